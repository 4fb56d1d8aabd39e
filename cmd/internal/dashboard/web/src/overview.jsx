import { useState } from 'preact/hooks'
import { Bits } from './bits.jsx'
import { Chart } from './chart.jsx'
import { EventList } from './events.jsx'
import { parseSpec } from './layout.js'
import { Sequences } from './sequences.jsx'
import { count, date, short, span, took } from './format.js'

const rate = (v) => short(v).join(v >= 1e5 ? ' ' : '')
const ms = (v) => took(v).join(' ')

export function lastOf(list) {
  for (let i = list.length - 1; i >= 0; i--) if (list[i] != null) return list[i]
  return null
}

export function Tile({ name, value, unit, note, warn }) {
  return (
    <div class={`tile ${warn ? 'warned' : ''}`}>
      <dt>{name}</dt>
      <dd>
        <span class="value num">{value}</span> <span class="unit">{unit}</span>
        <span class="note muted">{note || '\u00a0'}</span>
      </dd>
    </div>
  )
}

const made = (series) => ({ label: 'IDs', values: series.rates, token: '--line-1', fill: true })

/** IDs a second of one namespace. */
export function RateChart({ series, title }) {
  const now = rate(series.rates.at(-1) ?? 0)
  return <Chart title={title} times={series.times} format={rate} summary={`${title} over time; now ${now}`} lines={[made(series)]} />
}

/** IDs a second of all namespaces, and the requests over all wires: batches have many IDs. */
function RatesChart({ series, pointer }) {
  const asked = series.times.map((_, i) => Object.values(series.wires).reduce((sum, w) => sum + w.rate[i], 0))
  return (
    <Chart
      title="IDs a second" pointer={pointer} times={series.times} format={rate} lines={[made(series), { label: 'requests', values: asked, token: '--line-2' }]}
      summary={`IDs and requests a second over time; now ${rate(series.rates.at(-1) ?? 0)} IDs, ${rate(asked.at(-1) ?? 0)} requests`}
    />
  )
}

const pair = (t, token, group) => [
  { group, label: 'median', values: t.p50, token },
  { group, label: '99 %', values: t.p99, token, dash: [6, 4] },
]

export function StoreChart({ series, pointer }) {
  const now = lastOf(series.store.p50)
  return (
    <Chart
      title="Round trips to the store" pointer={pointer} times={series.times} format={ms} log lines={pair(series.store, '--line-1')}
      summary={`Time of round trips to the store; median now ${now == null ? 'unknown' : ms(now)}`}
    />
  )
}

const wires = [
  ['resp', 'Redis protocol', '--line-1'],
  ['http', 'HTTP', '--line-2'],
  ['rpc', 'gRPC', '--line-3'],
]

/** How long requests take, for each wire that has had some. */
export function RequestChart({ series, pointer }) {
  const used = wires.filter(([name]) => series.wires[name])
  const now = used.map(([name, text]) => `${text} ${ms(lastOf(series.wires[name].p50) ?? 0)}`)
  return (
    <Chart
      title="Answers to requests" pointer={pointer} times={series.times} format={ms} log lines={used.flatMap(([name, text, token]) => pair(series.wires[name], token, text))}
      summary={`Time until requests are answered; ${now.length ? `median now: ${now.join(', ')}` : 'there were none'}`} empty="Nobody has asked for anything in the last quarter of an hour."
    />
  )
}

export function Overview({ live }) {
  const pointer = useState(null)
  const { series, namespaces, spaces } = live
  const now = Date.now() - live.skew
  const total = live.last?.total ?? 0
  const made = [...spaces.values()].reduce((n, s) => n + s.made, 0)
  const [rateValue, rateUnit] = short(total)
  const [madeValue, madeUnit] = short(made)
  const [storeValue, storeUnit] = took(lastOf(series.store.p50))
  const ends = (namespaces || []).map((n) => Date.parse(n.end_of_life)).sort((a, b) => a - b)
  const held = [...spaces.values()].filter((s) => s.held)
  const left = held.length > 0 ? Math.min(...held.map((s) => s.until)) - now : null
  const wanting = [...spaces.values()].filter((s) => s.leased && !s.held).length
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <dl class="tiles">
        <Tile name="IDs a second" value={rateValue} unit={`${rateUnit}/s`} note={`${madeValue}${madeUnit && ` ${madeUnit}`} since the start`} />
        <Tile
          name="Shortest lease" value={left == null ? '–' : Math.max(0, Math.round(left / 1000))} unit={left == null ? '' : 's left'}
          note={wanting > 0 ? `${wanting} without a lease` : held.length > 0 ? `of ${count(held.length)} this server holds` : 'taken with the first ID'} warn={wanting > 0 || (left != null && left < 5000)}
        />
        <Tile name="Store, median" value={live.store.away ? 'away' : storeValue} unit={live.store.away ? '' : storeUnit} note={live.store.away ? 'it does not answer' : 'a round trip'} warn={live.store.away} />
        <Tile name="First layout to end" value={ends.length ? date(ends[0]) : '–'} unit="" note={ends.length ? `${span(ends[0] - now)} left` : ''} warn={ends.length > 0 && ends[0] - now < 365 * 86400e3} />
      </dl>
      <div class="charts">
        <RatesChart series={series} pointer={pointer} />
        <RequestChart series={series} pointer={pointer} />
        <StoreChart series={series} pointer={pointer} />
      </div>
      <section aria-labelledby="namespaces">
        <h2 id="namespaces" class="section">
          Namespaces
        </h2>
        {namespaces === null ? (
          <div class="card skeleton" aria-busy="true">
            <p class="muted">{live.store.away ? 'The store has not told yet which there are.' : 'Reading the namespaces …'}</p>
          </div>
        ) : namespaces.length === 0 ? (
          <div class="card empty">
            <p>
              <b>There are no namespaces that you may see.</b>
            </p>
            <p class="muted">
              A namespace is where IDs are unique. <code>snowfence namespace create orders</code> makes one.
            </p>
          </div>
        ) : (
          <ul class="spaces">
            {namespaces.map((ns) => (
              <SpaceCard key={ns.name} ns={ns} space={spaces.get(ns.name)} now={now} />
            ))}
          </ul>
        )}
      </section>
      <Sequences sequences={live.sequences} />
      <section aria-labelledby="latest">
        <h2 id="latest" class="section">
          Latest events
        </h2>
        <EventList events={live.events.slice(0, 5)} all={live.events.length > 5} />
      </section>
    </>
  )
}

/** How much of a layout's time has passed. */
export function Life({ ns, now }) {
  const begin = Date.parse(parseSpec(ns.layout).epoch)
  const end = Date.parse(ns.end_of_life)
  const used = Math.min(1, Math.max(0, (now - begin) / (end - begin)))
  const soon = end - now < 365 * 86400e3
  return (
    <div class={`life ${soon ? 'warned' : ''}`}>
      <div class="track" role="img" aria-label={`${Math.round(used * 100)} % of the layout's time has passed`}>
        <span style={{ width: `${Math.max(used * 100, 0.5)}%` }} />
      </div>
      <p>
        <b>{end < now ? 'Over' : `${span(end - now)} left`}</b> <span class="muted">until {date(end)}</span>
        {soon && <span class="flag"> plan a change</span>}
      </p>
    </div>
  )
}

function SpaceCard({ ns, space, now }) {
  const [value, unit] = short(space?.rate ?? 0)
  const left = space?.held ? Math.max(0, Math.round((space.until - now) / 1000)) : null
  return (
    <li class="card space">
      <a class="name" href={`#/ns/${encodeURIComponent(ns.name)}`}>
        {ns.name}
      </a>
      {ns.state !== 'active' && <span class="flag">{ns.state}</span>}
      <Bits fields={parseSpec(ns.layout).fields} small />
      <dl class="facts">
        <div>
          <dt>IDs a second</dt>
          <dd class="num">
            {value} {unit}
          </dd>
        </div>
        <div>
          <dt>This server's lease</dt>
          <dd class="num">{left != null ? `${left} s left` : space?.leased ? 'none held' : 'not needed yet'}</dd>
        </div>
      </dl>
      {space?.trouble && <p class="trouble">{space.trouble}</p>}
      <Life ns={ns} now={now} />
    </li>
  )
}
