import { useState } from 'preact/hooks'
import { local, utc } from './format.js'

const names = {
  leased: ['▲', 'leased'],
  ended: ['■', 'ended'],
  lost: ['✕', 'lost'],
  late: ['!', 'late'],
  fenced: ['▮', 'fenced'],
  clock: ['◷', 'clock'],
  store: ['◆', 'store'],
  managed: ['◇', 'managed'],
}
const grave = new Set(['lost', 'fenced', 'clock', 'store', 'late', 'ended'])

/** Events that say the same one after the other become one line. */
export function gather(events) {
  const out = []
  for (const e of events) {
    const last = out.at(-1)
    if (last && last.kind === e.kind && last.namespace === e.namespace && last.text === e.text && last.actor === e.actor) last.times++
    else out.push({ ...e, times: 1 })
  }
  return out
}

export function EventList({ events, most = 400 }) {
  const all = gather(events)
  if (events.length === 0) return <p class="card empty muted">Nothing has happened yet: no clock step, no lost lease, no change of a namespace.</p>
  return (
    <div class="card list">
      <ol class="events">
        {all.slice(0, most).map((e, i) => {
          const [mark, name] = names[e.kind] || ['·', e.kind]
          return (
            <li key={`${e.at}${i}`}>
              <time datetime={e.at} title={`${utc(e.at)} UTC`} class="num">
                {local(e.at)}
              </time>
              <span class={`kind ${grave.has(e.kind) ? 'grave' : ''}`}>
                <span aria-hidden="true">{mark}</span> {name}
              </span>
              <span class="what">
                {e.sequence ? <b>{e.namespace}</b> : e.namespace && <a href={`#/ns/${encodeURIComponent(e.namespace)}`}>{e.namespace}</a>} {e.text}
                {e.times > 1 && <b> ({e.times} times)</b>}
              </span>
              <span class="who muted">
                <span class="hidden">by </span>
                {e.actor || 'this server'}
              </span>
            </li>
          )
        })}
      </ol>
      {all.length > most && (
        <a class="more" href="#/events">
          All events
        </a>
      )}
    </div>
  )
}

export function Events({ live }) {
  const [kind, set] = useState('')
  const kinds = [...new Set(live.events.map((e) => e.kind))].sort()
  return (
    <>
      <div class="head">
        <h1>Events</h1>
        <label class="inline">
          Show{' '}
          <select value={kind} onChange={(e) => set(e.currentTarget.value)}>
            <option value="">all</option>
            {kinds.map((k) => (
              <option key={k} value={k}>
                {names[k]?.[1] || k}
              </option>
            ))}
          </select>
        </label>
      </div>
      <p class="muted">What people did, through any server or by a command, and the last 200 things that this server saw since it was started. Times are your machine's.</p>
      <EventList events={live.events.filter((e) => !kind || e.kind === kind)} />
    </>
  )
}
