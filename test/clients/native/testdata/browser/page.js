import { check } from './check.js'

const tell = (who, text) => fetch(`/result?who=${who}`, { method: 'POST', body: String(text) })
await tell('page', await check().catch((e) => e.stack))
const worker = new Worker('worker.js', { type: 'module' })
worker.onmessage = ({ data }) => tell('worker', data)
worker.onerror = (e) => tell('worker', e.message)
