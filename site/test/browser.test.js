// The site in Chromium: both themes, a wide and a narrow window. SHOTS is a folder for pictures.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { browse, serve } from './rig.js'

const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const shots = process.env.SHOTS
const patience = { timeout: 300_000 }
let site, browser

before(async () => {
  site = await serve()
  browser = await browse()
})
after(async () => {
  await browser?.close()
  site.close()
})

async function open(at, { theme = 'light', width = 1280 } = {}) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.problems = []
  page.on('pageerror', (err) => page.problems.push(err.message))
  await page.setViewport({ width, height: 900 })
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
  await page.evaluateOnNewDocument((t) => localStorage.setItem('vitepress-theme-appearance', t), theme)
  await page.goto(site.url + at, { ...patience, waitUntil: 'networkidle0' })
  page.done = () => context.close()
  return page
}

// looked fails if axe-core finds something serious, or if the page is wider than its window.
async function looked(page, name) {
  if (shots) await page.screenshot({ path: path.join(shots, `${name}.png`), fullPage: name.includes('home') })
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] })
    return violations.filter((v) => ['serious', 'critical'].includes(v.impact))
      .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary ?? ''}`).slice(0, 4).join(' | ')}`)
  })
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - window.innerWidth)
  assert.deepEqual({ name, found, problems: page.problems, wide: Math.max(wide, 0) }, { name, found: [], problems: [], wide: 0 })
}

const pages = {
  home: '/', start: '/start/go', serve: '/operate/serve', concepts: '/concepts',
  go: '/reference/go', command: '/commands/snowfence-plan', documentation: '/documentation',
}
for (const [name, at] of Object.entries(pages)) {
  for (const [theme, width] of [['light', 1280], ['light', 390], ['dark', 1280], ['dark', 390]]) {
    if (name !== 'home' && (theme === 'light') !== (width === 1280)) continue // each page is seen in two of four ways
    test(`${name}, ${theme}, ${width} px`, async () => {
      const page = await open(at, { theme, width })
      await looked(page, `${name}-${theme}-${width}`)
      await page.done()
    })
  }
}

test('the first programs fit their column', async () => {
  for (const at of ['/', '/start/go']) {
    const page = await open(at)
    const beyond = await page.$eval('.language-go pre', (e) => e.scrollWidth - e.clientWidth)
    assert.ok(beyond <= 0, `${at}: ${beyond} pixels are hidden`)
    await page.done()
  }
})

test('the search finds pages and commands', async () => {
  const page = await open('/concepts')
  await page.click('.DocSearch-Button')
  for (const [word, link] of [['guess layouts plausible', '/commands/snowfence-decode'], ['rolled back', '/concepts']]) {
    await page.waitForSelector('#localsearch-input', patience)
    await page.$eval('#localsearch-input', (e, w) => { e.value = w; e.dispatchEvent(new Event('input')) }, word)
    await page.waitForFunction((l) => [...document.querySelectorAll('.VPLocalSearchBox a.result')].some((a) => a.pathname.endsWith(l)), patience, link)
  }
  if (shots) await page.screenshot({ path: path.join(shots, 'search.png') })
  assert.deepEqual(page.problems, [])
  await page.done()
})
