import { useState } from 'preact/hooks'
import { count } from './format.js'

const perPage = 24

/** A list of cards with a heading. Where they do not fit one page, it has pages and a filter by name. */
export function Cards({ id, title, note, list, card, children }) {
  const [find, setFind] = useState('')
  const [page, setPage] = useState(0)
  const found = list.filter((x) => x.name.includes(find.trim()))
  const from = Math.min(page, Math.max(0, Math.ceil(found.length / perPage) - 1)) * perPage
  const many = list.length > perPage
  return (
    <section aria-labelledby={id}>
      <div class="head section">
        <h2 id={id}>{title}</h2>
        {note && <span class="muted small">{note}</span>}
        {many && (
          <div class="filters">
            <input type="search" placeholder="Name" aria-label={`Find by name: ${title}`} value={find} onInput={(e) => (setFind(e.currentTarget.value), setPage(0))} />
          </div>
        )}
      </div>
      {children}
      {list.length > 0 && <ul class="spaces">{found.slice(from, from + perPage).map(card)}</ul>}
      {many && (
        <div class="pages">
          <span class="muted num" role="status">
            {found.length === 0 ? 'No name matches.' : `${count(from + 1)} to ${count(Math.min(from + perPage, found.length))} of ${count(found.length)}`}
          </span>
          <button type="button" disabled={from === 0} onClick={() => setPage(from / perPage - 1)}>
            Back
          </button>
          <button type="button" disabled={from + perPage >= found.length} onClick={() => setPage(from / perPage + 1)}>
            Next
          </button>
        </div>
      )}
    </section>
  )
}
