import { Cards } from './cards.jsx'
import { count, large, short, span } from './format.js'

const soon = 30 * 86400e3
const centuries = 1000 * 365.2425 * 86400e3

/** A number as people read it; a text with a date stays as it is. */
const grouped = (text) => (/^-?\d+$/.test(text) ? count(BigInt(text)) : text)

export function Sequences({ sequences }) {
  const list = [...sequences.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  if (list.length === 0) return null
  return <Cards id="sequences" title="Sequences" list={list} card={(s) => <SequenceCard key={s.name} s={s} />} />
}

function SequenceCard({ s }) {
  const [value, unit] = short(s.rate)
  return (
    <li class="card sequence">
      <p class="title">
        <b>{s.name}</b> <span class="muted">{s.mode}</span> {s.pattern && <code>{s.pattern}</code>}
      </p>
      {s.state !== 'active' && <span class="flag">{s.state === 'rolled-back' ? 'rolled back: confirm it' : s.state}</span>}
      <dl class="facts">
        <div class="last">
          <dt>{s.own || !s.last_number ? 'Last given' : 'Given so far, at most'}</dt>
          <dd class="num">{s.last_number ? grouped(s.last_number) : 'none yet'}</dd>
        </div>
        <div>
          <dt>Numbers a second</dt>
          <dd class="num">
            {value} {unit}
          </dd>
        </div>
        <div>
          <dt>Reserve here</dt>
          <dd class="num">{reserve(s)}</dd>
        </div>
      </dl>
      {s.trouble && <p class="trouble">{s.trouble}</p>}
      <Rest s={s} />
    </li>
  )
}

/** How long the numbers last that the server took from the store. */
function reserve(s) {
  if (s.mode === 'strict') return 'not kept'
  if (s.held === 0) return 'none'
  return s.reserve ? `lasts ${span(s.reserve)}` : `${large(s.held)} numbers`
}

/** How many numbers are left, and how long they last. */
function Rest({ s }) {
  const left = Number(s.left)
  const known = s.ends > 0 && s.ends < centuries && left > 0
  const few = s.used > 0.9 || (s.ends > 0 && s.ends < soon && !s.pattern)
  return (
    <div class={`life ${few ? 'warned' : ''}`}>
      <div class="track" role="img" aria-label={`${Math.round(s.used * 100)} % of the numbers are given out`}>
        <span style={{ width: `${Math.max(s.used * 100, 0.5)}%` }} />
      </div>
      <p>
        <b>{left === 0 ? 'None left' : `${large(left)} left`}</b>{' '}
        <span class="muted">
          {[s.pattern && `in ${s.period}`, known && `${span(s.ends)} at this rate`].filter(Boolean).join(', ')}
        </span>{' '}
        {few && !s.pattern && <span class="flag">raise max</span>}
      </p>
    </div>
  )
}
