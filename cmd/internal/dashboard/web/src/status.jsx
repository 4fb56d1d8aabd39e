import { local, server, span } from './format.js'
import { present } from './live.js'

/** Whether requests should come to this server, and which server this is. */
export function Status({ live }) {
  const { hello, ready } = live
  if (!hello || !ready) return <p class="card status muted">Connecting …</p>
  const known = live.connection === 'live'
  const [mark, text] = !known ? ['○', 'Not known'] : ready.ready ? ['●', 'Ready'] : ['▲', 'Not ready']
  return (
    <div class={`card status ${known ? (ready.ready ? 'good' : 'bad') : ''}`}>
      <p role="status">
        <span aria-hidden="true">{mark}</span> <b>{text}</b>
        {known && !ready.ready && <span class="why">{ready.why}</span>}
      </p>
      <dl>
        <div>
          <dt>Server</dt>
          <dd>{hello.label ? server(hello.label) : 'without a name'}</dd>
        </div>
        <div>
          <dt>Version</dt>
          <dd>{hello.version || 'unknown'}</dd>
        </div>
        {hello.since && (
          <div>
            <dt>Since</dt>
            <dd class="num">
              {local(Date.parse(hello.since))} <span class="muted">({span(present(live) - Date.parse(hello.since))})</span>
            </dd>
          </div>
        )}
      </dl>
    </div>
  )
}
