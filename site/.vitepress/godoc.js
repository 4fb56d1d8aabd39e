// Links from names of Go in the text to their documentation.
import fs from 'node:fs'
import path from 'node:path'
import { repository } from './pages.js'

const root = 'github.com/snowfence/snowfence'

// packages reads the list of packages: the import path of each by its name.
export function packages() {
  const text = fs.readFileSync(path.join(repository, 'docs/reference/go.md'), 'utf8')
  const all = new Map()
  for (const row of text.split('\n## Packages\n')[1].split('\n## ')[0].split('\n')) {
    for (const [, pkg] of (row.split('|')[1] ?? '').matchAll(/`([a-z0-9/]+)`/g)) {
      if (!/\/v\d+$/.test(pkg)) all.set(pkg.split('/').at(-1), pkg === 'snowfence' ? root : `${root}/${pkg}`)
    }
  }
  return all
}

// godoc makes names in code a link, such as store.Store, where they are no link already. A test of
// Go compares these names with the code.
export function godoc(md) {
  const known = packages()
  md.core.ruler.push('godoc', (state) => {
    for (const block of state.tokens) {
      if (block.type !== 'inline') continue
      let depth = 0
      block.children = block.children.flatMap((t) => {
        depth += t.type === 'link_open' ? 1 : t.type === 'link_close' ? -1 : 0
        if (t.type !== 'code_inline' || depth) return [t]
        const name = /^\*?([a-z]+)\.([A-Z][A-Za-z0-9.]*)(\(.*\))?$/.exec(t.content)
        if (!name || !known.has(name[1]) || name[0] === 'snowfence.Error') return [t] // Python's and Rust's
        const open = new state.Token('link_open', 'a', 1)
        open.attrs = [['href', `https://pkg.go.dev/${known.get(name[1])}#${name[2]}`], ['class', 'godoc']]
        return [open, t, new state.Token('link_close', 'a', -1)]
      })
    }
  })
}
