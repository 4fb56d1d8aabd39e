// The program of the playground, as it is delivered, under Node: the project's vectors, and the
// errors of the library.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import zlib from 'node:zlib'

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const built = path.join(repository, 'bin/site')
const read = (file) => JSON.parse(fs.readFileSync(path.join(repository, file), 'utf8'))

const packed = fs.readFileSync(path.join(built, 'playground.wasm.gz'))
await import(pathToFileURL(path.join(built, 'wasm_exec.js')))
const go = new Go()
const { instance } = await WebAssembly.instantiate(zlib.gunzipSync(packed), go.importObject)
go.run(instance)
const ask = (question) => JSON.parse(globalThis.snowfence(JSON.stringify(question)))

test('the program has at most 2 MB', () => {
  assert.ok(packed.length <= 2e6, `${packed.length} bytes`)
})

test('samples of other systems are read as they were published', () => {
  let fields = 0
  for (const [layout, { vectors }] of Object.entries(read('testdata/layouts.json'))) {
    for (const v of vectors) {
      const { cards: [card] } = ask({ ask: 'decode', text: v.id, layout })
      assert.equal(card.title, v.id)
      assert.equal(card.groups.map((g) => g.digits).join(''), BigInt.asUintN(64, BigInt(v.id)).toString(2).padStart(64, '0'))
      for (const [name, text] of card.rows) {
        if (name === 'time') {
          assert.equal(Date.parse(text.split(' ')[0]), Math.floor(Number(v.unix_ms)), `${layout} ${v.id}`)
        } else if (name in v) {
          assert.equal(text.split(' ')[0], String(v[name]), `${layout} ${v.id}: ${name}`)
        }
        fields++
      }
    }
  }
  assert.ok(fields > 100, `${fields} fields`)
})

test('the vectors of the specification', () => {
  let n = 0
  const { ids, refused } = read('testdata/specification/ids.json')
  for (const v of ids.filter((v) => !v.layout.includes('cipher='))) { // the page takes no secrets
    const { cards, error } = ask({ ask: 'decode', text: v.id, layout: v.layout })
    assert.ok(cards, `${v.layout} ${v.id}: ${error}`)
    const rows = Object.fromEntries(cards[0].rows)
    for (const name of ['node', 'sequence', 'rollback']) {
      if (!(name in rows)) continue
      assert.equal(rows[name].split(' ')[0], String(v[name] ?? 0), `${v.layout} ${v.id}: ${name}`)
      n++
    }
  }
  assert.ok(n > 100, `${n} fields`)
  for (const v of refused) assert.ok(ask({ ask: 'decode', text: v.id, layout: v.layout }).error, `${v.layout} ${v.id}`)
})

test('layouts that cannot exist are refused with a reason', () => {
  const invalid = read('testdata/specification/layouts.json').invalid
  for (const layout of invalid) assert.match(ask({ ask: 'plan', layout }).error ?? '', /layout/, layout)
  assert.ok(invalid.length > 5)
})

test('changes are proven and refused', () => {
  const refused = ask({ ask: 'change', layout: 'twitter', to: 'sonyflake', at: '2027-01-01T00:00:00Z' })
  assert.equal(refused.cards[0].title, 'REFUSED: both layouts can make the ID 653022933811200000')
  const safe = ask({ ask: 'change', layout: 'twitter', to: 'time=41,node=8,seq=14,epoch=2000-01-01' })
  assert.match(safe.cards[0].title, /^SAFE: /)
})
