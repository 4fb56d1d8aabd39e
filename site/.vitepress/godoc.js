// Links from names of Go in the text to their documentation.
import fs from 'node:fs'
import path from 'node:path'
import { repository } from './pages.js'

const root = 'github.com/snowfence/snowfence'

// names reads the list of all exported names, which a test compares with the code: the address of
// each by its name with the package in front, such as store.Store.
export function names() {
  const all = new Map()
  let pkg = ''
  for (const line of fs.readFileSync(path.join(repository, 'docs/reference/go.md'), 'utf8').split('\n')) {
    const heading = /^### Package `([^`]+)`/.exec(line)
    if (heading) pkg = heading[1]
    if (!pkg || !line.startsWith('| `')) continue
    const importPath = pkg === 'snowfence' ? root : `${root}/${pkg}`
    const last = /\/v\d+$/.test(pkg) ? pkg.split('/').at(-2) : pkg.split('/').at(-1)
    for (const [, name] of line.split('|')[1].matchAll(/`([A-Za-z.]+)`/g)) {
      const url = `https://pkg.go.dev/${importPath}#${name}`
      if (!all.has(`${last}.${name}`)) all.set(`${last}.${name}`, url)
      all.set(`${pkg} ${name}`, url)
    }
  }
  return all
}

// godoc makes names in code a link, where they are known and no link already.
export function godoc(md) {
  const known = names()
  md.core.ruler.push('godoc', (state) => {
    const file = state.env.realPath ?? state.env.path ?? ''
    let pkg = '' // on the page that lists all names, the package that it is at
    for (const [i, block] of state.tokens.entries()) {
      if (block.type !== 'inline') continue
      if (state.tokens[i - 1]?.type === 'heading_open') {
        pkg = /^Package `([^`]+)`/.exec(block.content)?.[1] ?? pkg
        continue
      }
      let depth = 0
      block.children = block.children.flatMap((t) => {
        depth += t.type === 'link_open' ? 1 : t.type === 'link_close' ? -1 : 0
        if (t.type !== 'code_inline' || depth) return [t]
        const call = /^([A-Za-z][A-Za-z0-9.]*)(\(.*\))?$/.exec(t.content)
        const url = call && (known.get(call[1]) ?? (file.endsWith('docs/reference/go.md') && known.get(`${pkg} ${call[1]}`)))
        if (!url) return [t]
        const open = new state.Token('link_open', 'a', 1)
        open.attrs = [['href', url], ['class', 'godoc']]
        return [open, t, new state.Token('link_close', 'a', -1)]
      })
    }
  })
}
