// Compiled, never run: the types that index.d.ts promises.
import { Generator, Options, Parts, Sequence, SnowfenceError, decode, format, open, openSequence, openStateFile, openStatic, parse } from './index.js'

const options: Options = { lead: 2000, coarse: true, maxWait: '2s', secretFile: ['a', 'b'], label: undefined }
const ids: Generator = open('sqlite:ids.db', null, options)
const id: bigint = ids.next()
const many: BigInt64Array = ids.take(3)
for (const each of ids) {
  const one: bigint = each
  if (one === id) break
}
const parts: Parts = ids.decode(many[0])
const time: Date = parts.time
const others: Generator[] = [openStateFile('node', 5n, 'sonyflake', { slice: '0-9' }), openStatic(5, null)]
const numbers: Sequence = openSequence('bills')
const number: bigint = numbers.next()
const serial: string = numbers.serial()
const text: string = format(decode(number).node, 'base58')
try {
  parse(text)
} catch (e) {
  if (e instanceof SnowfenceError) console.log(e.code, e.status, time)
}
type OrderID = string & { readonly of: 'order' }
const newer = (a: OrderID, b: OrderID): boolean => BigInt(a) > BigInt(b)
console.log(newer('2' as OrderID, '10' as OrderID))
// @ts-expect-error: a number has too few bits
decode(5)
// @ts-expect-error: there is no such option
open('mem:', 'shop', { leed: 1 })
// @ts-expect-error: an ID is no number
const wrong: number = ids.next()
// @ts-expect-error: open makes generators
new Generator()
for (const each of others) each.close()
console.log(wrong, serial)
