'use strict'
// Makes IDs under signals, on the main thread and in a worker: node signals.js CLIENT SECONDS. Prints "ok".
const assert = require('assert')
const { Worker, isMainThread, workerData } = require('worker_threads')
const [client, seconds] = isMainThread ? process.argv.slice(2) : workerData
const snowfence = require(client)

const ids = snowfence.open('mem:', null, { lead: 2000 })
const end = Date.now() + Number(seconds) * 1000
const made = new Set()
let last = 0n
let caught = 0
let ended = false

function round () {
  if (isMainThread) process.kill(process.pid, 'SIGUSR2')
  for (let i = 0; i < 2000; i++) {
    const id = i % 500 === 0 ? ids.take(1)[0] : ids.next()
    assert(id > last)
    last = id
    if (made.size < 1000000) made.add(id)
  }
  if (Date.now() < end || (isMainThread && caught < 2)) return setImmediate(round)
  ended = true
  ids.close()
  if (!isMainThread) return
  worker.on('exit', code => {
    assert.strictEqual(code, 0)
    console.log('ok')
  })
}

let worker
if (isMainThread) {
  process.on('SIGUSR2', () => {
    caught++
    if (!ended) made.add(last = ids.next())
  })
  worker = new Worker(__filename, { workerData: [client, seconds] })
}
round()
