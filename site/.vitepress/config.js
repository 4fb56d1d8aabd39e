import fs from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { commands } from '../generate.js'
import { excluded, files, github, href, place, repository } from './pages.js'

const site = path.join(repository, 'site')
const pages = new Set(files())

// folders of the pages that stand under each heading of docs/README.md.
const folders = {
  Start: ['start'], Choose: ['choose'], 'Move here': ['move'], Operate: ['operate'],
  'Look up': ['reference', 'prove', 'decide'],
}

// sidebar has the pages in the order of the lists of docs/README.md, and the others of each folder below.
function sidebar() {
  const title = (file) => /^# (?:Start: )?(.*)/m.exec(fs.readFileSync(path.join(repository, file), 'utf8'))[1]
  const item = (file, text = title(file)) => ({ text: text[0].toUpperCase() + text.slice(1), link: href('', file) })
  const items = (linked) => [...linked].map((file) => item(file))
  const linked = (text) => [...text.matchAll(/\(([^)]+\.md)\)/g)].map(([, link]) => `docs/${link}`)
  const [top, ...parts] = fs.readFileSync(path.join(repository, 'docs/README.md'), 'utf8').split(/^## (.*)\n/m)
  const groups = [{ items: items(linked(top)) }]
  for (let i = 0; i < parts.length; i += 2) {
    const others = [...pages].filter((f) => folders[parts[i]].includes(f.split('/')[1]))
    groups.push({ text: parts[i], items: items(new Set([...linked(parts[i + 1]), ...others])) })
  }
  const list = commands().map((c) => ({ text: c.title, link: `/commands/${c.name}` }))
  const project = {
    text: 'The project',
    items: [
      { text: 'Changelog', link: '/changelog' },
      { text: 'Contributing', link: '/contributing' },
      { text: 'Security', link: '/security' },
    ],
  }
  return { '/': [...groups, project], '/commands/': [{ text: 'Commands', items: list }] }
}

// vue finds Vue for pages. They stand outside of this folder, where no packages are installed.
const vue = {
  name: 'vue-for-pages',
  enforce: 'pre',
  resolveId(id, importer, options) {
    if (!/^vue(\/|$)/.test(id) || !importer || importer.startsWith(site)) return null
    return this.resolve(id, path.join(site, 'package.json'), { ...options, skipSelf: true })
  },
}

// pictures shows a picture with a dark version by the theme of the site, not by the system's.
function pictures(tokens) {
  let dark
  for (const t of tokens.filter((t) => t.type === 'html_inline')) {
    const source = /^<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">$/.exec(t.content)
    const img = /^<img src="([^"]+)" alt="([^"]*)">$/.exec(t.content)
    if (source) dark = source[1]
    if (source || /^<\/?picture>$/.test(t.content)) t.content = ''
    if (!img) continue
    const one = (name, src) => `<img class="${name}" src="./${src}" alt="${img[2]}" loading="lazy">`
    t.content = one('only-light', img[1]) + one('only-dark', dark ?? img[1])
  }
}

export default defineConfig({
  title: 'Snowfence',
  description: '64-bit IDs for distributed systems that never repeat within a namespace of a store, whatever the clocks do.',
  lang: 'en',
  base: process.env.SITE_BASE || '/',
  srcDir: '..',
  outDir: '../bin/site',
  srcExclude: excluded(),
  rewrites: (page) => place(page),
  cleanUrls: true,
  metaChunk: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${process.env.SITE_BASE || '/'}icon.svg` }]],
  vite: {
    publicDir: path.join(site, 'public'),
    plugins: [vue],
    build: { chunkSizeWarningLimit: 2000 },
  },
  buildEnd({ outDir }) {
    fs.cpSync(path.join(site, 'public'), outDir, { recursive: true })
    fs.cpSync(path.join(repository, 'llms.txt'), path.join(outDir, 'llms.txt'))
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // Headings have the same anchors as on GitHub.
    anchor: {
      slugify: (s) => s.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'),
    },
    config(md) {
      md.core.ruler.push('links', (state) => {
        const file = path.posix.relative(repository, state.env.realPath ?? state.env.path)
        if (!pages.has(file)) return
        for (const block of state.tokens) {
          if (block.type === 'code_block') Object.assign(block, { type: 'fence', info: 'text' }) // it scrolls, as others do
          for (const t of block.children ?? []) {
            if (t.type === 'link_open') t.attrSet('href', href(file, t.attrGet('href')))
          }
          if (block.children) pictures(block.children)
        }
      })
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local' },
    nav: [
      { text: 'Start', link: '/start/go' },
      { text: 'Documentation', link: '/documentation' },
      {
        text: 'Reference',
        items: [
          { text: 'Go at a glance', link: '/reference/go' },
          { text: 'Go packages (pkg.go.dev)', link: 'https://pkg.go.dev/github.com/snowfence/snowfence' },
          { text: 'Commands', link: '/reference/cli' },
          { text: 'Protocols', link: '/reference/protocols' },
          { text: 'Specification', link: '/reference/specification' },
          { text: 'Errors', link: '/reference/errors' },
        ],
      },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    socialLinks: [{ icon: 'github', link: github }],
    editLink: {
      pattern: `${github}/edit/main/:path`,
      text: 'Change this page on GitHub',
    },
    footer: { message: 'Apache-2.0. No cookies, nothing is counted.' },
  },
})
