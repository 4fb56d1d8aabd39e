// Serves the built site as a host of static files does, and opens it in Chromium.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import puppeteer from 'puppeteer-core'

export const built = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../bin/site')

const types = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png',
  '.json': 'application/json', '.gz': 'application/gzip', '.woff2': 'font/woff2',
}

// base is where the site stands on its host.
const base = process.env.SITE_BASE || '/'

// serve returns the address of the site, and a function that ends it.
export async function serve() {
  const server = http.createServer((request, response) => {
    const pathname = new URL(request.url, 'http://localhost').pathname.replace(base, '/')
    const file = [pathname, `${pathname}.html`, `${pathname}index.html`]
      .map((p) => path.join(built, decodeURI(p))).find((p) => fs.existsSync(p) && fs.statSync(p).isFile())
    if (!file) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { 'Content-Type': types[path.extname(file)] ?? 'application/octet-stream' })
    fs.createReadStream(file).pipe(response)
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${server.address().port}${base.slice(0, -1)}`, close: () => server.close() }
}

// browse starts Chromium. It waits long: the machine may be busy.
export function browse() {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    timeout: 300_000,
    protocolTimeout: 600_000,
  })
}
