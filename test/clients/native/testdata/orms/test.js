// Runs the block of docs/start/node.md and the files beside this: SERVER, DATABASE.
import assert from 'node:assert/strict'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { DataSource } from 'typeorm'
import { orders as table } from './drizzle.js'
import { ids } from './ids.js'
import { FillKeys, Order } from './typeorm.js'
import { ID, OrderID } from './zod.js'

const pool = new pg.Pool({ connectionString: process.env.DATABASE })
await pool.query('CREATE TABLE orders (id bigint PRIMARY KEY, name text NOT NULL)')

const db = drizzle(pool)
const rows = await db.insert(table).values([{ name: 'a' }, { name: 'b' }, { id: 5n, name: 'c' }]).returning()
assert(rows[0].id > 2n ** 53n && rows[1].id > rows[0].id && rows[2].id === 5n)

const source = await new DataSource({ type: 'postgres', url: process.env.DATABASE, entities: [Order], subscribers: [FillKeys] }).initialize()
const repository = source.getRepository(Order)
const saved = await repository.save([{ name: 'd' }, { name: 'e' }])
await repository.save({ id: '6', name: 'f' })
await repository.insert({ name: 'g' })
await source.createQueryBuilder().insert().into(Order).values({ name: 'h' }).execute()
assert(BigInt(saved[0].id) > rows[1].id && BigInt(saved[1].id) > BigInt(saved[0].id))
assert.equal((await repository.findOneByOrFail({ name: 'e' })).id, saved[1].id)

const { rows: all } = await pool.query('SELECT id, name FROM orders ORDER BY name')
assert.deepEqual(all.map((r) => r.name), [...'abcdefgh'])
for (const { id, name } of all) assert('cf'.includes(name) || ids.decode(BigInt(id)).time > new Date('2026-01-01'), name)

for (const [value, ok] of [['0', true], ['-5', true], [String(rows[0].id), true], ['-0', false], [5, false], ['', false], ['5 ', false]]) {
  assert.equal(ID.safeParse(value).success, ok, value)
}
assert.equal(ID.parse(String(rows[0].id)), rows[0].id)
assert(!ID.safeParse('9223372036854775808').success)
assert.equal(OrderID.parse('ord_5'), 5n)
for (const bad of ['usr_5', 'ord_!', 5]) assert(!OrderID.safeParse(bad).success)

await source.destroy()
await pool.end()
await ids.close()
console.log('ok')
