'use strict'
// Prints what an ID costs in Node.js, in ns: name and figure, the best of some.
const { randomUUID } = require('crypto')
const snowfence = require(process.argv[2])

const ids = snowfence.openStatic(1, process.argv[3], { lead: 1000 })
let sink

function run (call, n) {
  let best = Infinity
  for (let round = 0; round < 15; round++) {
    const start = process.cpuUsage()
    for (let i = 0; i < n; i++) sink = call()
    const used = process.cpuUsage(start)
    best = Math.min(best, (used.user + used.system) * 1000 / n)
  }
  return best
}

console.log('js-uuid', run(() => randomUUID(), 300000).toFixed(3))
console.log('js-next', run(() => ids.next(), 1000000).toFixed(3))
ids.close()
if (sink === undefined) process.exit(1)
