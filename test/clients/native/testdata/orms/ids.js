import { Generator } from 'snowfence'

export const ids = await Generator.open(process.env.SERVER)
