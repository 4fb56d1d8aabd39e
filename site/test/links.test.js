// Every link of the built site leads to a page of it, and to a heading that is there.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import test from 'node:test'
import { built } from './rig.js'

const text = (s) => s.replaceAll('&amp;', '&').replaceAll('&#39;', "'").replaceAll('&quot;', '"')
const pages = new Map()
for (const name of fs.readdirSync(built, { recursive: true })) {
  if (!name.endsWith('.html')) continue
  const html = fs.readFileSync(path.join(built, name), 'utf8')
  const ids = new Set([...html.matchAll(/\sid="([^"]+)"/g)].map((m) => text(m[1])))
  const at = `/${name}`.replace(/index\.html$/, '').replace(/\.html$/, '')
  pages.set(at, { html, ids })
}

const has = (at, part) => assert.ok(pages.get(at)?.html.includes(part), `${at} has no ${part}`) // in one line, without the page

test('links and anchors', () => {
  const base = process.env.SITE_BASE || '/'
  const dead = []
  let links = 0
  let anchors = 0
  for (const [from, { html }] of pages) {
    for (const [, raw] of html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)) {
      const to = text(raw)
      if (/^[a-z]+:/.test(to)) continue
      const url = new URL(to, `http://site${base.slice(0, -1)}${from}`)
      const at = decodeURI(url.pathname).replace(base, '/')
      const page = pages.get(at)
      links++
      if (!page) dead.push(`${from} links to ${to}, which is not there`)
      if (!page || !url.hash) continue
      anchors++
      if (!page.ids.has(decodeURIComponent(url.hash.slice(1)))) dead.push(`${from} links to ${to}: there is no such heading`)
    }
  }
  assert.deepEqual(dead, [])
  assert.ok(links > 1000 && anchors > 200, `${links} links, ${anchors} anchors`)
})

test('pages that have moved are not on the site', () => {
  assert.ok(pages.has('/operate/serve') && !pages.has('/serve') && !pages.has('/use-uuidv7'))
  for (const [at, { html }] of pages) assert.ok(!html.includes('This page has moved'), at)
})

test('each man page is a page', () => {
  has('/commands/snowfence-decode', '--layout')
})
