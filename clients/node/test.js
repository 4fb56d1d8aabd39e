'use strict'
// Checks the package: node test.js STORE VECTORS. Prints "ok".
const assert = require('assert')
const fs = require('fs')
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads')
const snowfence = require('./index.js')

function vectors (path) {
  for (const line of fs.readFileSync(path, 'utf8').trim().split('\n')) {
    const [name, id, ...fields] = line.split('\t')
    const p = snowfence.decode(BigInt(id), name)
    for (const [i, field] of ['tick', 'node', 'sequence', 'rollback'].entries()) {
      if (fields[i] !== '-') assert.strictEqual(p[field], BigInt(fields[i]), line)
    }
  }
  for (const encoding of [null, 'hex', 'base58', 'base32hex-fixed']) {
    assert.strictEqual(snowfence.parse(snowfence.format(1n << 62n, encoding), encoding), 1n << 62n)
  }
}

function args () {
  const invalid = part => e => e.code === 'SNOWFENCE_INVALID' && e.message.includes(part)
  assert.throws(() => snowfence.open('mem:', null, { noSuchOption: 1 }), invalid('no-such-option'))
  assert.throws(() => snowfence.open('mem:', null, { label: 'a,b' }), TypeError)
  assert.throws(() => snowfence.open('mem:', null, 'lead=1'), TypeError)
  assert.throws(() => snowfence.open('mem:\0'), TypeError)
  assert.throws(() => snowfence.open(5), TypeError)
  for (const id of [1.5, 2 ** 53, 2n ** 63n, '1', null]) assert.throws(() => snowfence.decode(id), TypeError)
  assert.throws(() => new snowfence.Generator(5n), invalid('not of this library'))
  // IDs from 2^53 up stay whole.
  assert.strictEqual(snowfence.parse('9007199254740993'), 9007199254740993n)
  assert.strictEqual(snowfence.format(9223372036854775807n), '9223372036854775807')
  const ids = snowfence.openStatic(9, null, { label: undefined, lead: 2000 })
  for (const n of [-1, 1.5, 2 ** 53, '3', undefined]) assert.throws(() => ids.take(n), TypeError)
  assert.strictEqual(ids.take(0).length, 0)
  assert.strictEqual(structuredClone(ids).next, undefined)
  const it = ids[Symbol.iterator]()
  it.next()
  ids.close()
  assert.throws(() => it.next(), e => e.code === 'SNOWFENCE_CLOSED')
  assert.throws(() => ids.decode(1n), e => e.code === 'SNOWFENCE_CLOSED')
}

async function inWorker (store) {
  const worker = new Worker(__filename, { workerData: store })
  return new Promise((resolve, reject) => worker.on('error', reject).on('message', resolve))
}

async function main (store, path) {
  vectors(path)
  args()
  const ids = snowfence.open(store, null, { label: 'node', lead: 2000 })
  const made = new Set()
  let last = 0n
  const keep = id => {
    assert(id > last)
    last = id
    made.add(id)
  }
  for (let i = 0; i < 200000; i++) {
    keep(ids.next())
    if (i % 1000 === 0) ids.take(i % 7).forEach(keep)
  }
  ids.take(1000).forEach(keep)
  for (const id of ids) {
    keep(id)
    break
  }
  const before = made.size
  assert(before > 201000)
  for (const more of await Promise.all([inWorker(store), inWorker(store)])) more.forEach(id => made.add(id))
  assert.strictEqual(made.size, before + 20000)
  keep(ids.next()) // so that some are left
  ids.close()
  ids.close()
  for (let i = 0; i < 20; i++) assert.throws(() => ids.next(), e => e.code === 'SNOWFENCE_CLOSED')
  assert.throws(() => ids.take(1), e => e.code === 'SNOWFENCE_CLOSED')
  console.log('ok')
}

if (isMainThread) {
  main(process.argv[2], process.argv[3])
} else {
  const ids = snowfence.open(workerData)
  const more = []
  for (let i = 0; i < 10000; i++) more.push(ids.next())
  ids.close()
  parentPort.postMessage(more)
}
