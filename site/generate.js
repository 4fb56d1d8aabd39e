// Writes the pages that have no file of their own into site/pages: the home page with the programs of
// the documentation, and a page for each man page.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const site = path.dirname(fileURLToPath(import.meta.url))
const repository = path.dirname(site)
const man = path.join(repository, 'bin/man')

// commands lists the man pages.
export function commands() {
  return fs.readdirSync(man).filter((f) => f.endsWith('.1')).map((f) => f.slice(0, -2)).sort().map((name) => {
    const text = fs.readFileSync(path.join(man, `${name}.1`), 'utf8')
    const [, long, about] = /\.SH NAME\n(\S+) - (.*)/.exec(text)
    return { name, text, about: plain(about), title: plain(long).replaceAll('-', ' ') }
  })
}

const plain = (s) => s.replace(/\\f[BIRP]/g, '').replaceAll('\\-', '-').replaceAll('\\&', '').replaceAll('\\\\', '\\')
const escaped = (s) => s.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('{{', '&#123;&#123;')

// aligned gives the first line of a table back the spaces that the man page took from it.
function aligned(lines) {
  if (!/\S {3,}\S/.test(lines[0])) return lines
  const indent = Math.min(...lines.slice(1).map((l) => l.search(/\S/)))
  return [lines[0], ...lines.slice(1).map((l) => l.slice(indent))]
}

// page turns a man page into Markdown. All of them are written by one program and use few requests.
function page({ title, about, text }) {
  const out = [`# ${title}`, '', about[0] + about.slice(1) + '.', '']
  const sections = text.split(/^\.SH (.*)\n/m).slice(1)
  for (let i = 0; i < sections.length; i += 2) {
    const name = sections[i].replaceAll('"', '').trim()
    if (name === 'NAME') continue
    out.push(`## ${name[0] + name.slice(1).toLowerCase()}`, '')
    for (const part of sections[i + 1].split(/^\.PP\n/m)) {
      const lines = part.replace(/^\.(nh|EX|EE)\n?/gm, '').replace(/\s+$/, '').split('\n')
      const paragraph = lines.filter((l) => l.trim() !== '')
      if (paragraph.length === 0) continue
      if (name.startsWith('OPTIONS')) {
        const [flag, ...rest] = paragraph
        out.push(`<dl><dt><code>${escaped(plain(flag))}</code></dt><dd>${escaped(plain(rest.join(' ').trim()))}</dd></dl>`, '')
      } else if (name === 'SEE ALSO') {
        const links = plain(paragraph.join(' ')).split(', ').map((s) => s.trim().replace(/\(1\)$/, ''))
        out.push(links.map((s) => `[${s.replaceAll('-', ' ')}](/commands/${s})`).join(', '), '')
      } else if (name === 'EXAMPLE' || name === 'SYNOPSIS') {
        out.push('```sh', ...lines.map((l) => plain(l).replace(/^ {2}/, '')).join('\n').trim().split('\n'), '```', '')
      } else if (paragraph.some((l) => /^\s/.test(l))) {
        out.push('```text', ...aligned(paragraph.map(plain)), '```', '')
      } else {
        out.push(escaped(plain(paragraph.join('\n'))), '')
      }
    }
  }
  return out.join('\n')
}

// block returns the nth fenced block of a page.
function block(file, n) {
  const blocks = fs.readFileSync(path.join(repository, file), 'utf8').match(/^```[a-z]*\n[^]*?^```$/gm) ?? []
  if (!blocks[n - 1]) throw new Error(`${file} has no block ${n}`)
  return blocks[n - 1]
}

export function generate() {
  const pages = path.join(site, 'pages')
  fs.rmSync(pages, { recursive: true, force: true })
  fs.mkdirSync(path.join(pages, 'commands'), { recursive: true })
  const home = fs.readFileSync(path.join(site, 'own/index.md'), 'utf8')
  fs.writeFileSync(path.join(pages, 'index.md'), home.replace(/^@block (\S+) (\d+)( \[.*\])?$/gm, (_, file, n, label = '') =>
    block(file, Number(n)).replace(/^```([a-z]*)/, `\`\`\`$1${label}`)))
  const all = commands()
  for (const c of all) fs.writeFileSync(path.join(pages, 'commands', `${c.name}.md`), `---\neditLink: false\naside: false\n---\n\n${page(c)}\n`)
  const list = all.map((c) => `| [${c.title}](/commands/${c.name}) | ${escaped(c.about)} |`)
  const index = ['---', 'editLink: false', '---', '', '# All commands', '', 'What `snowfence help` says of each. [Commands](/reference/cli) has them in short, and the exit codes.', '', '| command | does |', '|---|---|', ...list]
  fs.writeFileSync(path.join(pages, 'commands/index.md'), index.join('\n') + '\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) generate()
