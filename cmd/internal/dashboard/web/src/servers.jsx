import { count, local, span } from './format.js'

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
              <th scope="col">Holds</th>
            </tr>
          </thead>
          <tbody>
            {servers.map((s, i) => (
              <tr key={`${s.label} ${s.since} ${i}`}>
                <td class="label">
                  {s.label} {s.this && <span class="muted">this one</span>}
                </td>
                <td>{s.version || 'unknown'}</td>
                <td class="num">
                  {local(Date.parse(s.since))} <span class="muted">({span(now - Date.parse(s.since))})</span>
                </td>
                <td class="num">{holds(s.nodes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function holds(nodes) {
  const all = nodes.reduce((n, h) => n + Number(h.last_node) - Number(h.first_node) + 1, 0)
  const spaces = new Set(nodes.map((h) => h.namespace)).size
  return all === 0 ? 'no nodes' : `${count(all)} nodes in ${count(spaces)} ${spaces === 1 ? 'namespace' : 'namespaces'}`
}
