import { z } from 'zod'
import { Prefix, parse } from 'snowfence'

const reader = (read) => z.string().transform((text, ctx) => {
  try {
    return read(text)
  } catch (e) {
    ctx.addIssue({ code: 'custom', message: e.message })
    return z.NEVER
  }
})

const orders = new Prefix('ord')
export const ID = reader((text) => parse(text))
export const OrderID = reader((text) => orders.parse(text))
