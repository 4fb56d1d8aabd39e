import { useEffect, useRef, useState } from 'preact/hooks'
import { follow } from './api.js'
import { Bits } from './bits.jsx'
import { applyRuns, kinds } from './cells.js'
import { NodeMap } from './nodemap.jsx'
import { Life, RateChart, Tile } from './overview.jsx'
import { Leases, leases } from './leases.jsx'
import { NodeActions, Widen } from './manage.jsx'
import { emptySeries, fromHistory, present, push } from './live.js'
import { parseSpec } from './layout.js'
import { clock, count, large, short, span, utc } from './format.js'

/** Follows the nodes of a namespace. */
function useNodes(name) {
  const [nodes, set] = useState({ cells: null, series: emptySeries(), version: 0 })
  useEffect(() => {
    const end = new AbortController()
    let s = { cells: null, series: emptySeries(), version: 0 }
    const update = (part) => set((s = { ...s, ...part, version: s.version + 1 }))
    follow(`watch?namespace=${encodeURIComponent(name)}`, {
      signal: end.signal,
      silence: 40000,
      on: (kind, d) => {
        if (kind === 'history') update({ series: fromHistory(d) })
        if (kind === 'trouble') update({ trouble: d })
        if (kind !== 'cells') return
        const cells = d.full || !s.cells || s.cells.length !== d.cells ? new Uint8Array(d.cells) : s.cells
        applyRuns(cells, d.runs)
        update({ cells, info: d, trouble: null })
      },
      state: (state, error) => state !== 'live' && update({ trouble: error?.message }),
    })
    return () => end.abort()
  }, [name])
  return nodes
}

export function Namespace({ name, live, theme }) {
  const nodes = useNodes(name)
  const [selected, select] = useState(null)
  const map = useRef(null)
  const now = present(live)
  const ns = (live.namespaces || []).find((n) => n.name === name)
  const space = live.spaces.get(name)
  const sample = live.last
  if (sample && nodes.series.times.length > 0 && nodes.series.times.at(-1) < sample.t / 1000) push(nodes.series, sample, space?.rate ?? 0)

  if (live.namespaces && !ns) {
    return (
      <div class="card empty">
        <h1>{name}</h1>
        <p>There is no such namespace, or you may not see it.</p>
        <p>
          <a href="#/">Back to the overview</a>
        </p>
      </div>
    )
  }
  const [rate, unit] = short(space?.rate ?? 0)
  const [made, madeUnit] = short(space?.made ?? 0)
  const left = space?.held ? Math.round((space.until - now) / 1000) : null
  const counts = nodes.info?.counts
  const heldCount = counts ? counts[2] + counts[3] + counts[4] : null
  const layout = ns && parseSpec(ns.layout)
  return (
    <>
      <p class="above">
        <a href="#/">Namespaces</a> <span class="muted" aria-hidden="true">/</span>
      </p>
      <div class="head">
        <h1>{name}</h1>
        {ns && ns.state !== 'active' && <span class="flag">{ns.state}</span>}
      </div>
      <dl class="tiles">
        <Tile name="IDs a second" value={rate} unit={`${unit}/s`} note={`${made}${madeUnit && ` ${madeUnit}`} since the start`} />
        <Tile
          name="This server's lease" value={left == null ? '–' : left > 0 ? left : 'over'} unit={left > 0 ? 's left' : ''} warn={(space?.leased && !space.held) || (left != null && left <= 0)}
          note={left != null ? (space.first_node !== space.last_node ? `nodes ${space.first_node} to ${space.last_node}` : `node ${space.first_node}`) : space?.leased ? 'none held' : 'taken with the first ID'}
        />
        <Tile name="Nodes held" value={heldCount == null ? '–' : short(heldCount)[0]} unit={heldCount == null ? '' : short(heldCount)[1]} note={nodes.trouble ? `at ${nodes.info ? clock(nodes.info.at) : '–'}` : nodes.info ? `of ${large(nodes.info.last_node - nodes.info.first_node + 1)} that can be leased` : ''} />
        <Tile name="Renewals overdue" value={counts ? count(counts[3]) : '–'} unit="" note={counts && counts[5] ? `${count(counts[5])} vetoed` : ''} warn={counts?.[3] > 0} />
      </dl>
      {space?.trouble && (
        <p class="banner warn">
          <b>The last renewal failed.</b> <span class="cause">{space.trouble}</span>
        </p>
      )}
      {ns && (
        <section class="card">
          <h2>Layout</h2>
          <Bits fields={layout.fields} />
          <dl class="facts wide">
            <div>
              <dt>One tick</dt>
              <dd>{layout.tick}</dd>
            </div>
            <div>
              <dt>Epoch</dt>
              <dd class="num">{utc(layout.epoch)}</dd>
            </div>
            <div>
              <dt>Nodes that can be leased</dt>
              <dd class="num">
                {count(ns.first_node)} to {count(ns.last_node)}
                {ns.unit > 1 && `, in units of ${count(ns.unit)}`}
              </dd>
            </div>
            <div>
              <dt>Encrypted</dt>
              <dd>{layout.rest.find(([k]) => k === 'cipher')?.[1] || 'no'}</dd>
            </div>
            <div>
              <dt>Generation</dt>
              <dd class="num">{ns.generation}</dd>
            </div>
          </dl>
          <Life ns={ns} now={now} />
          {live.hello?.manage && <Widen ns={ns} fields={layout.fields} />}
        </section>
      )}
      <section class="card" ref={map}>
        <div class="head">
          <h2>Nodes</h2>
          <span class="muted small">
            {space?.units > 0 && `this server sublets ${count(space.sublet)} of its ${count(space.units)} nodes; `}
            {nodes.info && `as of ${clock(nodes.info.at)}`}
          </span>
        </div>
        {nodes.trouble && (
          <p class="banner warn">
            <b>The leases cannot be read now.</b> <span class="cause">{nodes.trouble}</span>
          </p>
        )}
        {nodes.cells ? (
          <>
            <Legend counts={nodes.info.counts} />
            <Chosen name={name} node={selected} unit={ns?.unit ?? 1} info={nodes.info} cells={nodes.cells} skew={live.skew} manage={live.hello?.manage}>
              {(text) => (
                <NodeMap
                  cells={nodes.cells} version={nodes.version} per={nodes.info.per} first={nodes.info.first_node} text={text}
                  selected={selected} select={select} theme={theme}
                />
              )}
            </Chosen>
          </>
        ) : (
          <div class="map waiting" aria-busy="true">
            <p class="muted">{nodes.trouble ? '' : 'Reading the leases …'}</p>
          </div>
        )}
      </section>
      <Leases
        name={name} select={(n) => (select(Math.floor(n / (nodes.info?.per || 1))), map.current?.scrollIntoView({ block: 'nearest' }))} version={Math.floor(now / 4000)} skew={live.skew} held={heldCount}
      />
      <RateChart
        series={nodes.series} title={`IDs a second in ${name}`} stale={live.connection !== 'live'}
        empty={space || nodes.series.rates.some((v) => v > 0) ? '' : 'This server makes no IDs here yet.'}
      />
    </>
  )
}

function Legend({ counts }) {
  return (
    <ul class="kinds">
      {[2, 4, 3, 5, 6, 1, 0, 7].map((i) => (
        <li key={i} class={counts[i] ? '' : 'none'}>
          <span class={`cell ${kinds[i].name}`}>
            <svg viewBox="0 0 12 12" aria-hidden="true">
              {kinds[i].mark === 'dot' && <circle cx="6" cy="6" r="2.4" />}
              {kinds[i].mark === 'stroke' && <path d="M3 9l6-6" />}
              {kinds[i].mark === 'cross' && <path d="M3 9l6-6M3 3l6 6" />}
            </svg>
          </span>
          {kinds[i].text} <b class="num">{count(counts[i])}</b>
        </li>
      ))}
    </ul>
  )
}

/** What is known of the chosen square, in a line of its own that is always there. */
function Chosen({ name, node, unit, info, cells, skew, manage, children }) {
  const [rows, set] = useState(null)
  const asked = useRef(0)
  const known = useRef(null)
  const kind = node == null ? null : cells[node]
  useEffect(() => {
    if (node == null) return
    if (known.current !== `${name} ${node}`) set(null) // otherwise what is known stays until there is more
    known.current = `${name} ${node}`
    const end = new AbortController()
    const n = ++asked.current
    const timer = setTimeout(async () => {
      try {
        const page = await leases({ namespace: name, node: node * info.per }, end.signal)
        if (n === asked.current) set(page.rows)
      } catch {
        // the next change asks again; the kind stays known
      }
    }, 120)
    return () => (clearTimeout(timer), end.abort())
  }, [name, node, info.per, kind, Math.floor(info.at / 10000)])
  const r = rows?.[0]
  const text =
    node == null
      ? 'Choose a square, or move to one with the arrow keys; N goes to the next node that is held.'
      : rows?.length > 1
        ? `${rows.length} leases are in this square; the first is held by ${r.label || 'no program'}.`
        : r
          ? `${r.label ? `${r.state >= 2 && r.state <= 4 ? 'Held' : 'Held last'} by ${r.label}` : 'Not held'}${r.nodes > 1 ? `, with nodes ${count(r.node)} to ${count(r.node + r.nodes - 1)}` : ''}, ${r.until > Date.now() - skew ? 'until' : 'ended'} ${utc(r.until)} UTC${r.parts ? `, ${r.parts}` : ''}${r.veto ? `, vetoed: ${r.veto}` : ''}`
          : rows
            ? 'It was never held.'
            : '…'
  return (
    <>
      {children(text)}
      <p class="chosen">
        {node != null && (
          <b>
            {info.per > 1 ? `Nodes ${count(node * info.per)} to ${count((node + 1) * info.per - 1)}` : `Node ${count(node)}`}: {kinds[kind]?.text}.{' '}
          </b>
        )}
        {text}
      </p>
      {manage && node != null && info.per === 1 && kind !== 7 && (
        <NodeActions name={name} node={node} unit={unit} held={kind >= 2 && kind <= 4} veto={kind === 5} label={r?.label} />
      )}
    </>
  )
}
