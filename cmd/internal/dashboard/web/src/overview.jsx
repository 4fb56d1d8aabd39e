import { useState } from 'preact/hooks'
import { Bits } from './bits.jsx'
import { Cards } from './cards.jsx'
import { Chart } from './chart.jsx'
import { Failures, sum } from './failures.jsx'
import { parseSpec } from './layout.js'
import { present } from './live.js'
import { Servers } from './servers.jsx'
import { Sequences } from './sequences.jsx'
import { Status } from './status.jsx'
import { clock, count, date, short, span, took } from './format.js'

const rate = (v) => short(v).join(v >= 1e5 ? ' ' : '')
const ms = (v) => took(v).join(' ')
const known = (v) => (v == null || v < 0 ? null : v)

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

/** IDs a second, of one namespace or of all. */
export function RateChart({ series, title, pointer, stale, empty }) {
  const lines = empty ? [] : [{ label: 'IDs', values: series.rates, token: '--line-1', fill: true }]
  const last = rate(series.rates.at(-1) ?? 0)
  return (
    <Chart title={title} pointer={pointer} stale={stale} times={series.times} format={rate} lines={lines} empty={empty} summary={`${title} over time; ${stale ? 'last' : 'now'} ${last}`} />
  )
}

/** Requests a second over all wires: one may ask for many IDs, so that they have a scale of their own. */
function RequestRates({ series, pointer, stale }) {
  const asked = series.times.map((_, i) => Object.values(series.wires).reduce((n, w) => n + w.rate[i], 0))
  const lines = [{ label: 'all', values: asked, token: '--line-1', fill: true }, { label: 'failed', values: series.failed, token: '--line-2' }]
  if (series.refused.some((v) => v > 0)) lines.push({ label: 'refused', values: series.refused, token: '--line-3', dash: [6, 4] })
  return (
    <Chart
      title="Requests a second" pointer={pointer} stale={stale} times={series.times} format={rate} lines={lines}
      summary={`Requests a second over time; ${stale ? 'last' : 'now'} ${rate(asked.at(-1) ?? 0)}, of which ${rate(series.failed.at(-1) ?? 0)} failed`}
    />
  )
}

const pair = (t, latest, token, group) => [
  { group, label: 'median', values: t.p50, token, latest: known(latest?.p50) },
  { group, label: '99 %', values: t.p99, token, dash: [6, 4], latest: known(latest?.p99) },
]

export function StoreChart({ series, minute, pointer, stale }) {
  const median = known(minute.store?.p50)
  return (
    <Chart
      title="Round trips to the store" present="last minute" pointer={pointer} stale={stale} times={series.times} format={ms} log
      lines={pair(series.store, minute.store, '--line-1')}
      summary={`Time of round trips to the store; median of the last minute ${median == null ? 'unknown' : ms(median)}`}
    />
  )
}

const wires = [
  ['resp', 'Redis protocol', '--line-1'],
  ['http', 'HTTP', '--line-2'],
  ['rpc', 'gRPC', '--line-3'],
]

/** How long requests take, for each wire that has had some. */
export function RequestChart({ series, minute, pointer, stale }) {
  const used = wires.filter(([name]) => series.wires[name])
  const medians = used.filter(([name]) => minute[name]).map(([name, text]) => `${text} ${ms(minute[name].p50)}`)
  return (
    <Chart
      title="Answers to requests" present="last minute" pointer={pointer} stale={stale} times={series.times} format={ms} log
      lines={used.flatMap(([name, text, token]) => pair(series.wires[name], minute[name], token, text))}
      summary={`Time until requests are answered; ${medians.length ? `median of the last minute: ${medians.join(', ')}` : 'there were none in the last minute'}`}
      empty="There were no requests in the last quarter of an hour."
    />
  )
}

export function Overview({ live }) {
  const pointer = useState(null)
  const { series, minute, namespaces, spaces } = live
  const stale = live.connection !== 'live'
  const now = present(live)
  const made = [...spaces.values()].reduce((n, s) => n + s.made, 0)
  const [rateValue, rateUnit] = live.last ? short(live.last.total) : ['–', '']
  const [madeValue, madeUnit] = short(made)
  const away = live.store.away
  const [storeValue, storeUnit] = away ? ['unreachable', ''] : took(known(minute.store?.p50))
  const ends = (namespaces || []).map((n) => Date.parse(n.end_of_life)).sort((a, b) => a - b)
  const held = [...spaces.values()].filter((s) => s.held)
  const left = held.length > 0 ? Math.min(...held.map((s) => s.until)) - now : null
  const shortest = held.find((s) => s.until - now === left)
  const renews = shortest?.renewed > 0 ? Math.round(((shortest.until - shortest.renewed) * 2) / 3000) : 0 // when a third of the ttl has passed
  const wanting = [...spaces.values()].filter((s) => s.leased && !s.held).length
  const failed = sum(live.failures, (f) => f.ours && f.where !== 'store')
  const refused = sum(live.failures, (f) => !f.ours)
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Status live={live} />
      <dl class="tiles">
        <Tile name="IDs a second" value={rateValue} unit={live.last && `${rateUnit}/s`} note={`${madeValue}${madeUnit && ` ${madeUnit}`} since the start`} />
        <Tile
          name="Failed requests" value={live.last ? count(failed.minute) : '–'} unit={live.last && 'in a minute'} warn={failed.minute > 0}
          note={failed.total + refused.total === 0 ? 'none since the start' : `${count(failed.total)} since the start, ${count(refused.total)} refused`}
        />
        <Tile
          name="Shortest lease" value={left == null ? '–' : left <= 0 ? 'ended' : Math.round(left / 1000)} unit={left > 0 ? 's left' : ''}
          note={left <= 0 && held.length > 0 ? 'no IDs until it is renewed' : wanting > 0 ? `${wanting} without a lease` : held.length > 0 ? `${held.length > 1 ? `The first of ${count(held.length)} to end` : 'It'} is renewed when ${renews > 0 ? `${renews} s are` : 'two thirds are'} left.` : 'taken with the first ID'} warn={wanting > 0 || (left != null && left < 5000)}
        />
        <Tile
          name="Store" value={storeValue} unit={storeUnit} warn={away}
          note={away ? `no answer for ${span(now - live.store.since)}` : minute.store?.n ? `median of a minute; 99 % within ${ms(known(minute.store.p99))}` : 'not asked in the last minute'}
        />
      </dl>
      <div class="charts">
        <RateChart title="IDs a second" series={series} pointer={pointer} stale={stale} />
        <RequestRates series={series} pointer={pointer} stale={stale} />
        <RequestChart series={series} minute={minute} pointer={pointer} stale={stale} />
        <StoreChart series={series} minute={minute} pointer={pointer} stale={stale} />
      </div>
      <Failures failures={live.failures} />
      <Servers servers={live.servers} now={now} />
      <Cards
        id="namespaces" title="Namespaces" note={ends.length > 1 && `the first layout ends ${date(ends[0])}`} list={namespaces || []}
        card={(ns) => <SpaceCard key={ns.name} ns={ns} space={spaces.get(ns.name)} used={live.used[ns.name]} now={now} />}
      >
        {namespaces === null && (
          <div class="card skeleton" aria-busy="true">
            <p class="muted">{live.store.away ? 'The store is unreachable, so the namespaces are not known yet.' : 'Reading the namespaces …'}</p>
          </div>
        )}
        {namespaces?.length === 0 && (
          <div class="card empty">
            <p>
              <b>There are no namespaces that you may see.</b>
            </p>
            <p class="muted">
              A namespace is where IDs are unique. <code>snowfence namespace create orders</code> makes one.
            </p>
          </div>
        )}
      </Cards>
      <Sequences sequences={live.sequences} />
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

/** 3 of 1,024, and when that was if it is not fresh. */
function Used({ used, now }) {
  if (!used) return '–'
  const old = now - used.at > 120e3
  return (
    <>
      {short(used.held).join(' ')} <span class="muted">of {short(used.leasable).join(' ')}</span>
      {old && <span class="muted sub">at {clock(used.at)}</span>}
    </>
  )
}

function SpaceCard({ ns, space, used, now }) {
  const [value, unit] = short(space?.rate ?? 0)
  const left = space?.held ? Math.round((space.until - now) / 1000) : null
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
          <dt>Nodes held</dt>
          <dd class="num">
            <Used used={used} now={now} />
          </dd>
        </div>
        <div>
          <dt>Lease here</dt>
          <dd class="num">{left != null ? (left > 0 ? `${left} s left` : 'over') : space?.leased ? 'none held' : 'none yet'}</dd>
        </div>
      </dl>
      {space?.trouble && <p class="trouble">{space.trouble}</p>}
      <Life ns={ns} now={now} />
    </li>
  )
}
