// A table server in memory, at the port that is given.
const server = require('dynalite')({ createTableMs: 0, deleteTableMs: 0 })

// A client that goes away in the middle of a request must not end the server.
process.on('uncaughtException', e => { if (e.code !== 'ECONNRESET') throw e })
server.on('clientError', (_, socket) => socket.destroy())

server.listen(Number(process.argv[2]), '127.0.0.1')
