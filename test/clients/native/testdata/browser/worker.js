import { check } from './check.js'

postMessage(await check().catch((e) => e.stack))
