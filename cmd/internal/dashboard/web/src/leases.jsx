import { useEffect, useState } from 'preact/hooks'
import { get } from './api.js'
import { kinds } from './cells.js'
import { count, span, utc } from './format.js'

const pageRows = 25

/** A page of leases. Numbers and times of the protocol are texts. */
export async function leases(query, signal) {
  const page = await get('leases', query, signal)
  const row = ({ lease, ...own }) => ({ ...own, ...lease, node: Number(lease.node), until: Date.parse(lease.until_time) })
  return { ...page, rows: page.rows.map(row) }
}

const columns = [
  ['node', 'Node', 'num'],
  ['state', 'State', ''],
  ['label', 'Holder', ''],
  ['until', 'Until', 'num'],
]

export function Leases({ name, version, skew, held, select }) {
  const [find, setFind] = useState('')
  const [all, setAll] = useState(false)
  const [order, setOrder] = useState('node')
  const [from, setFrom] = useState(0)
  const [page, setPage] = useState(null)
  const [error, setError] = useState(null)
  useEffect(() => {
    const end = new AbortController()
    leases({ namespace: name, find, held: String(!all), order, offset: from, limit: pageRows }, end.signal)
      .then((p) => (setPage(p), setError(null)))
      .catch((err) => !end.signal.aborted && setError(err.message))
    return () => end.abort()
  }, [name, find, all, order, from, version, held])
  const now = Date.now() - skew
  const sort = (key) => {
    setOrder(order === key ? `-${key}` : key)
    setFrom(0)
  }
  const sorted = (key) => (order === key ? 'ascending' : order === `-${key}` ? 'descending' : undefined)
  return (
    <section class="card" aria-labelledby="leases">
      <div class="head">
        <h2 id="leases">Leases</h2>
        <div class="filters">
          <input
            type="search" placeholder="Holder or node" aria-label="Find a holder or a node" value={find}
            onInput={(e) => (setFind(e.currentTarget.value), setFrom(0))}
          />
          <label class="inline">
            <input type="checkbox" checked={all} onChange={(e) => (setAll(e.currentTarget.checked), setFrom(0))} /> also those that ended
          </label>
        </div>
      </div>
      {error && (
        <p class="banner warn">
          <b>The list cannot be read now.</b> <span class="cause">{error}</span>
        </p>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label="Leases, a table that may scroll sideways">
        <table>
          <thead>
            <tr>
              {columns.map(([key, title, cls]) => (
                <th key={key} scope="col" class={cls} aria-sort={sorted(key)}>
                  <button type="button" class="sort" onClick={() => sort(key)}>
                    {title}
                    <span aria-hidden="true">{sorted(key) ? (order[0] === '-' ? ' ↓' : ' ↑') : ''}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {page?.rows.map((r) => (
              <tr key={r.node}>
                <td class="num">
                  <button type="button" class="sort link" onClick={() => select(r.node)}>
                    {r.nodes > 1 ? `${count(r.node)} to ${count(r.node + r.nodes - 1)}` : count(r.node)}
                  </button>
                  {r.nodes > 1 && <span class="muted sub">{count(r.nodes)} nodes</span>}
                  {r.parts && <span class="muted sub">{r.parts}</span>}
                </td>
                <td>
                  <span class="state">
                    <span class={`cell ${kinds[r.state].name}`} aria-hidden="true" /> {kinds[r.state].text}
                  </span>
                  {r.veto && <span class="muted sub">{r.veto}</span>}
                </td>
                <td class="label">{r.label || <span class="muted">no holder</span>}</td>
                <td class="num">
                  {r.until > now ? `${span(r.until - now)} left` : `ended ${span(now - r.until)} ago`}
                  <span class="muted sub">{utc(r.until)} UTC</span>
                </td>
              </tr>
            ))}
            {page && page.rows.length === 0 && (
              <tr>
                <td colSpan={4} class="empty muted">
                  {find ? 'No lease matches.' : 'No node is held. The first ID, or the first program that leases a node, takes one.'}
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
      <div class="pages">
        <span class="muted num">{page ? (page.total === 0 ? '' : `${count(from + 1)} to ${count(Math.min(from + pageRows, page.total))} of ${count(page.total)}`) : ''}</span>
        <button type="button" disabled={from === 0} onClick={() => setFrom(Math.max(0, from - pageRows))}>
          Back
        </button>
        <button type="button" disabled={!page || from + pageRows >= page.total} onClick={() => setFrom(from + pageRows)}>
          Next
        </button>
      </div>
    </section>
  )
}
