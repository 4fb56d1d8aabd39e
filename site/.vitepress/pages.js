// Which files of the repository are pages, and how their links work on the site. On GitHub the same
// files are read where they stand.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
export const github = 'https://github.com/snowfence/snowfence'

// Pages outside of docs, and where they stand on the site.
const others = {
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'docs/README.md': 'documentation.md',
}

// A page that only leads to where its text is now. The site never had it.
const moved = (file) => fs.readFileSync(file, 'utf8').startsWith('# This page has moved\n')

function* markdown(dir) {
  for (const e of fs.readdirSync(path.join(repository, dir), { withFileTypes: true })) {
    const file = `${dir}/${e.name}`
    if (e.isDirectory()) yield* markdown(file)
    else if (e.name.endsWith('.md')) yield file
  }
}

// files returns the paths of all pages in the repository.
export function files() {
  const docs = [...markdown('docs')].filter((f) => !others[f] && !moved(path.join(repository, f)))
  return [...Object.keys(others), ...docs, ...markdown('site/pages')].sort()
}

// place returns where a file stands on the site.
export function place(file) {
  return others[file] ?? file.replace(/^(docs|site\/pages)\//, '').replace(/(^|\/)README\.md$/, '$1index.md')
}

// excluded lists what the site generator finds and is no page.
export function excluded() {
  const pages = new Set(files())
  const out = []
  for (const e of fs.readdirSync(repository, { withFileTypes: true })) {
    if (e.isDirectory() && !['docs', 'site'].includes(e.name)) out.push(`${e.name}/**`)
    else if (e.name.endsWith('.md') && !pages.has(e.name)) out.push(e.name)
  }
  for (const f of markdown('docs')) if (!pages.has(f)) out.push(f)
  for (const e of fs.readdirSync(path.join(repository, 'site'))) if (e !== 'pages') out.push(`site/${e}/**`, `site/${e}`)
  return out
}

// href returns a link of a file as a link of the site. Files that are no pages are on GitHub.
export function href(from, link) {
  if (/^([a-z]+:|#|\/)/.test(link)) return link
  const [name, hash = ''] = link.split(/(?=#)/)
  const to = path.posix.join(path.posix.dirname(from), name).replace(/\/$/, '')
  if (to === 'README.md') return hash ? github + hash : '/'
  if (files().includes(to)) {
    return `/${place(to).replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}${hash}`
  }
  if (!fs.existsSync(path.join(repository, to))) return link // the check for dead links reports it
  const kind = fs.statSync(path.join(repository, to)).isDirectory() ? 'tree' : 'blob'
  return `${github}/${kind}/main/${to}${hash}`
}
