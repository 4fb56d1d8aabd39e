import { count } from './format.js'

const places = { http: 'HTTP', rpc: 'gRPC', resp: 'Redis protocol', store: 'Store' }

const texts = {
  internal: 'the server made an error: see its log',
  unavailable: 'the store was unreachable, or the server held no lease',
  exhausted: 'no ID could be made in time',
  'no-nodes': 'all nodes were taken',
  lifetime: "the layout's time has ended",
  ended: 'the sequence has given out all its numbers',
  'rolled-back': 'the store was rolled back: confirm the sequence',
  trips: 'requests to the store got no answer',
  invalid: 'the request was wrong',
  'no-namespace': 'there is no such namespace',
  'no-sequence': 'there is no such sequence',
  exists: 'the name is in use already',
  lost: 'the client no longer held the lease',
  refused: 'a check refused it',
  unauthenticated: 'no token, or an unknown one',
  denied: 'the token may not do that',
  limit: 'the request was over a limit',
  period: 'the sequence gives no numbers of that period',
}

/** How many there were in the last minute and since the start. */
export function sum(failures, wanted) {
  return failures.filter(wanted).reduce((n, f) => ({ minute: n.minute + f.minute, total: n.total + f.total }), { minute: 0, total: 0 })
}

/** What failed and what was refused, since the start. Nothing without either. */
export function Failures({ failures }) {
  const trips = sum(failures, (f) => f.where === 'store')
  const rows = failures.filter((f) => f.where !== 'store')
  if (trips.total > 0) rows.push({ where: 'store', kind: 'trips', ours: true, ...trips })
  if (rows.length === 0) return null
  rows.sort((a, b) => b.ours - a.ours || b.minute - a.minute || b.total - a.total)
  return (
    <section class="card" aria-labelledby="failures">
      <h2 id="failures">Failed and refused</h2>
      <table class="failures">
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">What happened</th>
            <th scope="col" class="num">Last minute</th>
            <th scope="col" class="num">Since the start</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((f) => (
            <tr key={`${f.where} ${f.kind}`} class={f.ours && f.minute > 0 ? 'grave' : ''}>
              <td>{places[f.where] || f.where}</td>
              <td>
                {f.where !== 'store' && <span class="muted">{f.ours ? 'failed' : 'refused'}: </span>}
                {texts[f.kind] || f.kind}
              </td>
              <td class="num">{count(f.minute)}</td>
              <td class="num">{count(f.total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
