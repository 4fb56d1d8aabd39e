// A server to test against, and a browser.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'

const program = process.env.RIG
if (!program) throw new Error('RIG is the path of the program of cmd/internal/dashboard/rig: go test ./test/server/dashboard sets it')

export const patience = 300000 // machines may be busy

const running = new Set()

export const stopRigs = () => Promise.all([...running].map((r) => r.stop()))

/** Starts a rig; do(...) sends it a line and waits until it was carried out. */
export async function startRig({ tokens, http } = {}) {
  const args = []
  let dir
  if (tokens) {
    dir = mkdtempSync(join(tmpdir(), 'rig-'))
    const lines = tokens.flatMap((t) => [
      `  - name: ${t.name}`,
      `    sha256: ${createHash('sha256').update(t.secret).digest('hex')}`,
      `    namespaces: [${(t.namespaces || []).map((n) => `"${n}"`).join(', ')}]`,
      `    verbs: [${t.verbs.join(', ')}]`,
    ])
    writeFileSync(join(dir, 'tokens.yaml'), ['tokens:', ...lines, ''].join('\n'))
    args.push('-tokens', join(dir, 'tokens.yaml'))
  }
  if (http) args.push('-http', http)
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const url = (await lines.next()).value
  if (!url) throw new Error('the rig did not start')
  const ended = new Promise((done) => child.once('exit', done))
  const rig = {
    url,
    async do(...line) {
      child.stdin.write(`${line.join(' ')}\n`)
      const { value } = await lines.next()
      if (value !== 'ok') throw new Error(`${line.join(' ')}: ${value}`)
    },
    async stop() {
      running.delete(rig)
      child.stdin.end()
      await ended
      if (dir) rmSync(dir, { recursive: true, force: true })
    },
  }
  running.add(rig)
  return rig
}

export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  })
}

/** A page in a context of its own. What the browser complains about, breaches of the content policy included, is collected in page.complaints. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(patience)
  const page = await context.newPage()
  page.complaints = []
  page.on('pageerror', (e) => page.complaints.push(String(e)))
  page.on('console', (m) => {
    if (m.type() === 'error' || /Content Security Policy/.test(m.text())) page.complaints.push(m.text())
  })
  await page.goto(url)
  return page
}
