import { ago, count, local, server, span } from './format.js'

/** The servers over the store, where there are several. */
export function Servers({ servers, now }) {
  if (servers.length < 2) return null
  return (
    <section class="card" aria-labelledby="servers">
      <div class="head">
        <h2 id="servers">Servers over this store</h2>
        <span class="muted small num">{count(servers.length)}</span>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Servers, a table that may scroll sideways">
        <table class="servers">
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">Version</th>
              <th scope="col">Since</th>
              <th scope="col">Seen</th>
              <th scope="col">Ready</th>
              <th scope="col">Lease left</th>
              <th scope="col">Holds</th>
            </tr>
          </thead>
          <tbody>
            {servers.map((s, i) => (
              <tr key={`${s.label} ${s.since} ${i}`}>
                <td class="label">
                  {server(s.label)} {s.this && <span class="muted">this one</span>}
                </td>
                <td>{s.version || 'unknown'}</td>
                <td class="num">
                  {local(Date.parse(s.since))} <span class="muted">({span(now - Date.parse(s.since))})</span>
                </td>
                <td class="num">{ago(Math.max(0, now - Date.parse(s.seen)))}</td>
                <td>{s.ready ? 'yes' : <b class="bad">no</b>}</td>
                <td class="num">{left(s.nodes, now)}</td>
                <td class="num">
                  {holds(s.nodes)} {s.failing.length > 0 && <b class="bad">no lease in {s.failing.join(', ')}</b>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** How long the lease lasts that ends first. */
function left(nodes, now) {
  const until = Math.min(...nodes.map((h) => (h.until ? Date.parse(h.until) : 0)))
  return nodes.length === 0 ? '–' : until > now ? span(until - now) : 'ended'
}

function holds(nodes) {
  const all = nodes.reduce((n, h) => n + Number(h.last_node) - Number(h.first_node) + 1, 0)
  const spaces = new Set(nodes.map((h) => h.namespace)).size
  const units = nodes.filter((h) => h.sublet != null)
  const sublet = units.length > 0 ? `, ${count(units.reduce((n, h) => n + Number(h.sublet), 0))} sublet` : ''
  return all === 0 ? 'no nodes' : `${count(all)} nodes in ${count(spaces)} ${spaces === 1 ? 'namespace' : 'namespaces'}${sublet}`
}
