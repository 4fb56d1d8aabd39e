// The main paths of the dashboard in a real browser, against a real server.

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { open, patience, startBrowser, startRig, stopRigs } from './rig.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let browser
let rig
let shared // a page that most tests use, because to open one takes most of a second of processor time
let landed // its first address

/** The shared page at a view, as a new one would be: in light colours, on a screen of usual size, with nothing under the pointer. */
async function at(view, { colorScheme = 'light', viewport = { width: 1280, height: 900 } } = {}) {
  if (!shared) {
    shared = await open(browser, rig.url)
    landed = shared.url()
  }
  await shared.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  await shared.setViewportSize(viewport)
  await shared.mouse.move(0, 0)
  await shared.goto(`${rig.url}/dashboard/#/${view}`)
  return shared
}

before(async () => {
  ;[browser, rig] = await Promise.all([startBrowser(), startRig()])
  await rig.do('namespace', 'default', 'twitter')
  await rig.do('namespace', 'orders', 'randflake-raw')
  await rig.do('sequence', 'tickets', 'fast')
  await rig.do('sequence', 'coupons', 'dense', 1000)
  await rig.do('sequence', 'invoices', 'strict', 0, 'RE-{year}{month}-{n:6}')
})
afterEach(() => {
  const complaints = shared?.complaints || []
  if (shared) shared.complaints = []
  assert.deepEqual(complaints, [])
})
after(async () => {
  await browser?.close()
  await stopRigs() // also the rigs of tests that failed: their pipes would keep this process
})

/** Forgets that the browser complains of answers with status 400: the page shows them. */
const refusals = (page) => (page.complaints = page.complaints.filter((c) => !/status of 400/.test(c)))

/** Waits until something holds. */
async function until(what, check) {
  const end = Date.now() + patience
  for (;;) {
    const seen = await check()
    if (seen) return seen
    if (Date.now() > end) assert.fail(`${what} did not happen`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

const number = async (locator) => Number((await locator.innerText()).replace(/,/g, ''))
const tile = (page, name) => page.locator('.tile', { has: page.locator('dt', { hasText: new RegExp(`^${name}`) }) })
const space = (page, name) => page.locator('.space .name', { hasText: name })

/** Faults of accessibility that axe-core finds serious or critical; of colours alone where all other rules were checked in the other theme. */
async function faults(page, colours) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const options = { resultTypes: ['violations'], ...(colours && { runOnly: ['color-contrast', 'link-in-text-block'] }) }
  const found = await page.evaluate((o) => window.axe.run(document, o), options)
  return found.violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`)
}

test('it loads with both namespaces, and IDs a second rise while IDs are made', async () => {
  const page = await at('')
  assert.match(landed, /\/dashboard\/$/)
  await space(page, 'default').waitFor()
  await space(page, 'orders').waitFor()
  await page.locator('.connection.live').waitFor()
  await rig.do('rate', 'default', 3000)
  const value = tile(page, 'IDs a second').locator('.value')
  await until('a rate above 500', async () => (await number(value)) > 500)
  const answers = page.getByRole('row', { name: /Redis protocol/ })
  await until('how long answers take', async () => /\d (µs|ms)\s+\d+(\.\d+)? (µs|ms|s)/.test(await answers.innerText()))
  assert.equal(await page.getByRole('row', { name: /gRPC/ }).count(), 0)
  assert.equal(await page.locator('.plot > svg').count(), 4)
  assert.ok((await page.locator('.plot .line').first().getAttribute('d')).includes('L'), 'IDs a second are no line')
  assert.doesNotMatch(await page.locator('.charts').innerHTML(), /NaN|Infinity|undefined/)
  assert.equal(await page.evaluate(() => [...document.querySelectorAll('script, link[rel=stylesheet]')].every((e) => (e.src || e.href).startsWith(location.origin))), true)
  await rig.do('rate', 'default', 0)
})

test('the charts show the values at the pointer, all at the same time', async () => {
  const page = await at('')
  const marks = page.locator('.plot').first().locator('.middle')
  await until('a time on the axis', async () => (await marks.count()) > 0)
  const present = ['now', 'now', 'last minute', 'last minute']
  assert.deepEqual(await page.locator('.chart .at').allInnerTexts(), present)
  await page.locator('.plot').first().hover()
  await until('the same time', async () => {
    const seen = await page.locator('.chart .at').allInnerTexts()
    return /^\d\d:\d\d:\d\d$/.test(seen[0]) && seen.every((s) => s === seen[0])
  })
  await page.locator('.brand').hover()
  await until('the present', async () => (await page.locator('.chart .at').allInnerTexts()).join() === present.join())
})

test('it says which server this is, since when, and that it is ready', async () => {
  const page = await at('')
  const status = page.locator('.status', { hasText: 'Ready' })
  await status.waitFor()
  assert.match(await status.innerText(), /Server\s+ids-1\s+Version\s+rig\s+Since\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+ (s|min)\)/)
  assert.match(await page.title(), /ids-1/)
})

test('failed and refused requests are counted, and said by kind', async () => {
  const page = await at('')
  const failed = tile(page, 'Failed requests')
  await until('no failures', async () => /^Failed requests\s+0 in a minute\s+none since the start/.test(await failed.innerText()))
  assert.equal(await page.locator('.failures').count(), 0)
  await rig.do('fail', 3)
  await until('failures', async () => /3 in a minute\s+3 since the start, 1 refused/.test(await failed.innerText()))
  assert.match(await page.getByRole('row', { name: /Redis protocol failed: the store was unreachable/ }).innerText(), /\b3\s+3$/)
  assert.match(await page.getByRole('row', { name: /HTTP refused: the request was wrong/ }).innerText(), /\b1\s+1$/)
})

test('a namespace shows how many nodes are held, and a block of nodes is one row', async () => {
  const [first] = await blocks()
  const page = await at('')
  await rig.do('block', 'default', first, 8, 'block-7')
  const card = page.locator('.space', { has: page.locator('.name', { hasText: 'default' }) })
  await until('the nodes of the block', async () => (await card.innerText()).match(/Nodes held\s+(\d+) of 1,024/)?.[1] >= 8)
  await page.goto(`${rig.url}/dashboard/#/ns/default`)
  const row = page.getByRole('row', { name: /block-7/ })
  await row.waitFor()
  assert.match(await row.innerText(), new RegExp(`^${first} to ${first + 7}\\s+8 nodes`))
  assert.equal(await row.count(), 1)
})

test('the servers over the store are listed as soon as there are several', async () => {
  const page = await at('')
  const list = page.locator('.servers')
  assert.equal(await list.count(), 0)
  await rig.do('server', 'ids-2')
  await list.waitFor()
  const rows = list.locator('tbody tr')
  await until('both of them', async () => (await rows.count()) === 2)
  assert.match(await rows.nth(0).innerText(), /^ids-1\s+this one\s+rig\s[^]*\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
  await until('both are ready', async () => /\s\d+ s ago\s+yes\s+\d+ s\s+16 nodes in \d namespaces?$/.test(await rows.nth(1).innerText()))
  assert.match(await rows.nth(1).innerText(), /^ids-2\s+rig\s/)
})

test('sequences show what was given last, how fast, and how long the rest lasts', async () => {
  const page = await at('')
  const card = (name) => page.locator('.sequence', { has: page.locator('.title b', { hasText: new RegExp(`^${name}$`) }) })
  const fact = (name, what) => card(name).locator('dd').nth(what)
  await card('tickets').waitFor()
  assert.equal(await fact('tickets', 0).innerText(), 'none yet')
  assert.match(await card('tickets').innerText(), /9\.01 quadrillion left/)
  await rig.do('count', 'tickets', 500)
  await until('the last number', async () => (await number(fact('tickets', 0))) > 200)
  await until('a rate', async () => (await number(fact('tickets', 1))) > 10)
  await until('a reserve', async () => /^lasts \d/.test(await fact('tickets', 2).innerText()))
  await rig.do('count', 'tickets', 0)
  await rig.do('count', 'coupons', 500)
  await until('few are left', async () => /raise max/.test(await card('coupons').innerText()))
  await rig.do('count', 'coupons', 0)
  assert.equal(await fact('invoices', 2).innerText(), 'not kept')
  assert.match(await card('invoices').innerText(), /RE-\{year\}\{month\}-\{n:6\}[^]*999,999 left in \d{6}/)
})

/** Nodes of default that were leased: the server leases some at random, and others after a loss. */
async function leased() {
  const { leases } = await (await fetch(`${rig.url}/v1/default/leases`)).json()
  return leases.map((l) => Number(l.node))
}

/** Nodes of default that were never leased. */
async function others() {
  const taken = await leased()
  return [421, 33, 422, 34, 423, 35].filter((node) => !taken.includes(node))
}

/** Where 8 nodes in a row were never leased. */
async function blocks() {
  const taken = await leased()
  return [256, 640, 832].filter((first) => !taken.some((n) => n >= first && n < first + 8))
}

/** The colour of a node's square, as a reader sees it. */
async function colour(page, node, columns, rows) {
  return page.locator('canvas[role=slider]').evaluate(
    (c, [n, cols, rs]) => {
      const w = c.width / cols
      const h = c.height / rs
      return [...c.getContext('2d').getImageData(Math.floor(((n % cols) + 0.15) * w), Math.floor((Math.floor(n / cols) + 0.15) * h), 1, 1).data].slice(0, 3)
    },
    [node, columns, rows],
  )
}
const variable = (page, name) =>
  page.evaluate((n) => {
    const v = parseInt(getComputedStyle(document.documentElement).getPropertyValue(n).trim().slice(1), 16)
    return [v >> 16, (v >> 8) & 255, v & 255]
  }, name)

test('a lease appears in the map and the list, and ends', async () => {
  const [node, brief] = await others()
  const page = await at('ns/default')
  const map = page.locator('canvas[role=slider]')
  await map.waitFor()
  const square = async () => {
    const columns = Number((await page.locator('.map .hover').innerText()).match(/^(\d+) nodes a row/)[1])
    return String(await colour(page, node, columns, 1024 / columns))
  }
  const shows = async (name) => (await square()) === String(await variable(page, name))
  await until(`an empty square of node ${node}`, () => shows('--cell-never'))
  await rig.do('hold', 'default', node, 'web-7')
  await until('a marked square', () => shows('--cell-held'))
  const row = page.getByRole('row', { name: /web-7/ })
  await row.waitFor()
  assert.ok((await row.innerText()).includes(`datacenter ${node >> 5}, worker ${node & 31}`))
  await map.focus()
  await page.keyboard.press('Home')
  const chosen = () => page.locator('.chosen').innerText()
  for (let i = 0; i < 60 && !(await chosen()).includes(`Node ${node}:`); i++) await page.keyboard.press('n')
  await until('what is known of the node', async () => new RegExp(`Node ${node}: held.*web-7`).test(await chosen()))
  assert.ok((await map.getAttribute('aria-valuetext')).includes(`node ${node}: held`))
  await rig.do('once', 'default', brief, 'short-lived', 60000)
  await page.getByRole('row', { name: /short-lived/ }).waitFor()
  await rig.do('once', 'default', brief, 'short-lived', 1)
  await page.getByRole('row', { name: /short-lived/ }).waitFor({ state: 'hidden' })
})

test('131,072 nodes are drawn at once and stay quick', async () => {
  await rig.do('fill', 'orders', 0, 131072)
  const page = await at('ns/orders')
  await page.locator('canvas[role=slider]').waitFor()
  await until('all nodes', async () => /131,072/.test(await page.locator('.kinds').innerText()))
  await page.locator('canvas[role=slider]').focus()
  await page.keyboard.press('End')
  await until('the last node', async () => /Node 131,071: held.*worker-131071/.test(await page.locator('.chosen').innerText()))
  await page.getByLabel('Find a holder or a node').fill('worker-99999')
  await page.getByText('1 to 1 of 1', { exact: true }).waitFor()
})

test('an ID is taken apart from any form', async () => {
  const page = await at('decode')
  for (const text of ['2083727055179621056', '0x1ceae2b774da22c0', '5qY6jMw9N8P', 'ord_1pqn2mtqdk8m0']) {
    await page.getByLabel('ID', { exact: true }).fill(text)
    await until(`${text} is read`, async () => {
      const seen = (await page.locator('.reading').allInnerTexts()).join()
      return seen.includes('2083727055179621056') && seen.includes('2026-08-02T01:30:18.388Z')
    })
  }
  const fields = await page.locator('.reading table').first().innerText()
  assert.match(fields, /datacenter\s+13/)
  assert.match(fields, /sequence\s+704/)
  await page.getByLabel('ID', { exact: true }).fill('2083727055179621056')
  await page.getByLabel('Layout', { exact: true }).selectOption('spec')
  await page.getByLabel('Layout: a name or a spec').fill('discord')
  await page.locator('.reading').filter({ hasText: 'discord' }).waitFor()
  await page.getByLabel('ID', { exact: true }).fill('no such ID!')
  await page.getByText(/no other form of text fits/).waitFor()
  refusals(page)
})

test('the theme follows the system, and a choice is kept', async () => {
  const page = await open(browser, rig.url, { colorScheme: 'dark' })
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  assert.equal(await ground(), 'rgb(14, 19, 26)')
  await page.getByRole('button', { name: 'Use the light theme' }).click()
  assert.equal(await ground(), 'rgb(244, 246, 249)')
  await page.reload()
  assert.equal(await ground(), 'rgb(244, 246, 249)')
  await page.getByRole('button', { name: 'Use the dark theme' }).waitFor()
  await page.context().close()
})

test('the keyboard reaches everything, and where it is can be seen', async () => {
  const page = await at('')
  await page.reload() // so that nothing has the focus
  await space(page, 'default').waitFor()
  const seen = []
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate(() => {
      const e = document.activeElement
      const s = getComputedStyle(e)
      return { name: e.getAttribute('aria-label') || e.innerText, visible: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2 }
    })
    assert.ok(at.visible, `${at.name} has the focus and does not show it`)
    seen.push(at.name.trim())
    if (at.name.trim() === 'default') break
  }
  for (const name of ['Skip to the content', 'Overview', 'Decode', 'default']) assert.ok(seen.includes(name), `${name} is not among ${seen}`)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'default', level: 1 }).waitFor()
  await until('the focus in the new view', () => page.evaluate(() => document.activeElement.id === 'main'))
})

test('nothing scrolls sideways at 360 pixels', async () => {
  const viewport = { width: 360, height: 740 }
  const page = await at('', { viewport })
  for (const view of ['', 'ns/default', 'ns/orders', 'decode']) {
    await page.goto(`${rig.url}/dashboard/#/${view}`)
    if (view.startsWith('ns')) await page.locator('.scroll tbody tr').first().waitFor()
    if (view === 'decode') {
      await page.getByLabel('ID', { exact: true }).fill('2083727055179621056')
      await page.locator('.reading').waitFor()
    }
    const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth])
    assert.ok(wide <= screen, `#/${view} is ${wide} pixels wide on a screen of ${screen}`)
  }
})

for (const colorScheme of ['light', 'dark']) {
  test(`axe-core finds no serious fault (${colorScheme})`, async () => {
    const page = await at('', { colorScheme })
    for (const view of ['', 'ns/default', 'decode']) {
      await page.goto(`${rig.url}/dashboard/#/${view}`)
      if (view === '') await space(page, 'orders').waitFor()
      if (view.startsWith('ns')) await page.locator('.scroll tbody tr').first().waitFor()
      if (view === 'decode') {
        await page.getByLabel('ID', { exact: true }).fill('2083727055179621056')
        await page.locator('.reading').waitFor()
      }
      assert.deepEqual(await faults(page, colorScheme === 'dark' && !process.env.LONG), [], `#/${view}`)
    }
    })
}

test('a server that wants a token asks for it, shows what the token is for, and the token is in no address', async () => {
  const guarded = await startRig({ tokens: [{ name: 'orders', secret: 'sesame', namespaces: ['orders'], verbs: ['read'] }] })
  await guarded.do('namespace', 'orders', 'twitter')
  await guarded.do('namespace', 'hidden', 'twitter')
  const page = await open(browser, guarded.url)
  const addresses = []
  page.on('request', (r) => addresses.push(r.url()))
  await page.getByRole('heading', { name: 'A token, please' }).waitFor()
  assert.deepEqual(await faults(page), [])
  await page.getByLabel('Token').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByText('does not know this token').waitFor()
  await page.getByLabel('Token').fill('sesame')
  await page.getByRole('button', { name: 'Open the dashboard' }).click()
  await space(page, 'orders').waitFor()
  assert.equal(await page.getByText('hidden', { exact: true }).count(), 0)
  await page.reload()
  await space(page, 'orders').waitFor()
  assert.ok(addresses.every((a) => !a.includes('sesame')))
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'A token, please' }).waitFor()
  await page.context().close()
  await guarded.stop()
})

test('who may manage releases and vetoes a node and widens a namespace; others see no button for it', async () => {
  const tokens = [
    { name: 'boss', secret: 'sesame', verbs: ['read', 'manage'] },
    { name: 'reader', secret: 'mirror', verbs: ['read'] },
  ]
  const guarded = await startRig({ tokens })
  await guarded.do('namespace', 'orders', 'twitter', 0, 99)
  await guarded.do('hold', 'orders', 33, 'web-7')
  const page = await open(browser, `${guarded.url}/dashboard/#/ns/orders`)
  const enter = async (secret) => {
    await page.getByLabel('Token').fill(secret)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: '33', exact: true }).click()
    await page.getByText(/Node 33: held.*web-7/).waitFor()
  }
  await enter('mirror')
  assert.equal(await page.getByRole('button', { name: /Release|Veto|Widen/ }).count(), 0)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await enter('sesame')
  await guarded.do('leave', 'orders', 33)
  await page.getByRole('button', { name: 'Release …' }).click()
  await page.getByText(/web-7, if it still runs, notices at its next renewal/).waitFor()
  assert.deepEqual(await faults(page), [])
  await page.getByRole('button', { name: 'Release node 33' }).click()
  await page.getByText('Node 33 was released.').waitFor()
  await page.getByRole('button', { name: 'Veto …' }).click()
  await page.getByLabel(/^Reason/).fill('its disk is broken')
  const asOf = await page.getByText(/^as of/).innerText()
  await until('the map drawn again', async () => (await page.getByText(/^as of/).innerText()) !== asOf)
  await page.getByRole('button', { name: 'Veto node 33' }).click()
  await page.getByText(/Node 33: vetoed.*its disk is broken/).waitFor()
  await page.getByRole('button', { name: 'End the veto …' }).click()
  await page.getByRole('button', { name: 'End the veto', exact: true }).click()
  await page.getByText('Node 33 can be leased again.', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Widen …' }).click()
  await page.getByLabel('Last').fill('499')
  await page.getByRole('button', { name: 'Widen', exact: true }).click()
  await page.getByText('Nodes 0 to 499 can be leased now.').waitFor()
  assert.deepEqual(page.complaints.filter((c) => !/status of 401/.test(c)), []) // it was refused without a token
  await page.context().close()
  await guarded.stop()
})

test('it says when the store is unreachable, when the server is, and goes on by itself', async () => {
  let other = await startRig()
  await other.do('namespace', 'default', 'twitter')
  await other.do('rate', 'default', 100)
  const page = await open(browser, other.url)
  await space(page, 'default').waitFor()
  await until('IDs', async () => (await number(tile(page, 'IDs a second').locator('.value'))) > 0)
  const before = Date.now()
  const leased = page.getByText(/makes IDs for \d+ s more/).waitFor() // it is shown for as long as the lease lasts
  await other.do('away')
  const banner = page.getByText(/The store has not answered since/)
  await banner.waitFor()
  const [, since] = (await banner.innerText()).match(/since (\d\d:\d\d:\d\d), for \d+ s/)
  const possible = Array.from({ length: (Date.now() - before) / 1000 + 2 }, (_, i) => new Date(before + i * 1000).toLocaleTimeString('en-GB'))
  assert.ok(possible.includes(since), `${since} is not from ${possible[0]} to ${possible.at(-1)}`)
  await page.locator('.status.bad', { hasText: 'the store does not answer' }).waitFor()
  assert.match(await tile(page, 'Store').innerText(), /unreachable\s+no answer for \d+ s/)
  await leased
  assert.deepEqual(await faults(page), [])
  await other.do('back')
  await page.getByText(/The store has not answered since/).waitFor({ state: 'hidden' })
  const http = new URL(other.url).host
  await other.stop()
  await page.getByText('The server does not answer.').waitFor()
  await page.locator('.status', { hasText: 'Not known' }).waitFor()
  for (const at of await page.locator('.chart .at').allInnerTexts()) assert.match(at, /^\d\d:\d\d:\d\d$/)
  await page.locator('.connection.lost').waitFor()
  other = await startRig({ http })
  await page.locator('.connection.live').waitFor()
  await page.getByText('There are no namespaces that you may see.').waitFor()
  await page.context().close()
  await other.stop()
})
