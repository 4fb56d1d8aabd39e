// Prints IDs: node example.js STORE N
const { open } = require('./index.js')

const ids = open(process.argv[2])
const n = Number(process.argv[3])
let lines = []
for (let i = 0; i < n; i++) {
  lines.push(ids.next())
  if (lines.length === 10000 || i === n - 1) {
    require('fs').writeSync(1, lines.join('\n') + '\n')
    lines = []
  }
}
ids.close()
