import { useEffect, useRef, useState } from 'preact/hooks'
import { post } from './api.js'
import { Bits } from './bits.jsx'
import { Copy } from './copy.jsx'
import { Tile } from './overview.jsx'
import { parseSpec, writeSpec } from './layout.js'
import { count, date, digits, large } from './format.js'

const ticks = ['1us', '10us', '100us', '1ms', '10ms', '100ms', '1s', '10s', '1m']
const tickNames = { '1us': '1 µs', '10us': '10 µs', '100us': '100 µs', '1ms': '1 ms', '10ms': '10 ms', '100ms': '100 ms', '1s': '1 s', '10s': '10 s', '1m': '1 min' }
const most = { time: 62, sequence: 53, rollback: 6, key: 16 }
const start = 'time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms'

export function Plan({ live, given }) {
  const [layout, setLayout] = useState(() => parseSpec(given || start))
  const [summary, set] = useState(null)
  const [error, setError] = useState(null)
  const specBox = useRef(null)
  const spec = writeSpec(layout)
  useEffect(() => {
    if (given) setLayout(parseSpec(given))
  }, [given])
  useEffect(() => {
    const end = new AbortController()
    const timer = setTimeout(() => {
      post('plan', { layout: spec }, end.signal)
        .then((s) => (set(s), setError(null)))
        .catch((err) => !end.signal.aborted && setError(err.message))
    }, 60)
    return () => (clearTimeout(timer), end.abort())
  }, [spec])

  const bits = (name, n) => setLayout({ ...layout, rest: layout.rest.filter(([k]) => k === 'cipher'), fields: layout.fields.map((f) => (f.name === name ? { ...f, bits: n } : f)) })
  const used = layout.fields.reduce((n, f) => n + f.bits, 0)
  const presets = live.hello?.presets || []
  const preset = presets.find((p) => p.layout === spec)?.name || ''
  const tick = ticks.includes(layout.tick) ? ticks : [layout.tick, ...ticks]
  const s = error ? null : summary
  return (
    <>
      <div class="head">
        <h1>Plan a layout</h1>
        <label class="inline">
          Start from{' '}
          <select value={preset} onChange={(e) => e.currentTarget.value && setLayout(parseSpec(presets.find((p) => p.name === e.currentTarget.value).layout))}>
            <option value="">your own</option>
            {presets.map((p) => (
              <option key={p.name} value={p.name}>
                {p.name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <section class="card">
        {used <= 64 ? <Bits fields={layout.fields.filter((f) => f.bits > 0)} /> : <div class="bits" />}
        <div class="sliders">
          {layout.fields.map((f) => (
            <Slider key={f.name} id={`bits-${f.name}`} name={`${f.name} bits`} value={f.bits} min={f.name === 'time' ? 1 : 0} max={most[f.name] || 62} shown={String(f.bits)} change={(n) => bits(f.name, n)} />
          ))}
          <Slider
            id="tick" name="one tick" value={tick.indexOf(layout.tick)} min={0} max={tick.length - 1} shown={tickNames[layout.tick] || layout.tick}
            change={(i) => setLayout({ ...layout, tick: tick[i] })}
          />
          <div class="slider">
            <label for="epoch">epoch</label>
            <input
              id="epoch" type="date" min="1900-01-01" max="2200-12-31" value={layout.epoch.slice(0, 10)}
              onChange={(e) => e.currentTarget.value && setLayout({ ...layout, epoch: `${e.currentTarget.value}T00:00:00Z` })}
            />
          </div>
        </div>
        <p class={`sum num ${used > 64 ? 'over' : ''}`}>
          {used} of 64 bits{used === 64 && ': IDs turn negative half-way'}
          {used > 64 && `: ${used - 64} too many`}
        </p>
        <div class="spec">
          <label for="spec">Spec</label>
          <input id="spec" class="mono" readOnly value={spec} ref={specBox} onFocus={(e) => e.currentTarget.select()} />
          <Copy text={spec} what="the spec" select={() => specBox.current.select()} />
        </div>
      </section>
      <div role="status">{error && <p class="banner warn">{error}</p>}</div>
      <dl class="tiles six">
        <Tile name="Ends" value={s ? date(s.end_of_life) : '–'} unit="" note={s ? (s.years_left > 0 ? `${digits(s.years_left)} years left` : 'it is over') : ''} warn={s && s.years_left < 10} />
        <Tile name="IDs a second, one node" value={s ? large(s.ids_per_second_per_node) : '–'} unit="" note={s ? `${count(s.ids_per_tick)} a tick` : ''} />
        <Tile name="IDs a second, all nodes" value={s ? large(s.ids_per_second) : '–'} unit="" note="" />
        <Tile name="Nodes" value={s ? large(s.nodes) : '–'} unit="" note="at one time" />
        <Tile
          name="Safe as JavaScript numbers" value={s ? (s.js_unsafe_from ? (Date.parse(s.js_unsafe_from) <= Date.parse(s.epoch) ? 'never' : `until ${date(s.js_unsafe_from)}`) : 'always') : '–'}
          unit="" note="IDs of at most 2⁵³ − 1"
        />
        <Tile name="Length" value={s?.decimal_lengths?.length ? lengthNow(s, Date.now()) : '–'} unit="digits" note={s?.decimal_lengths?.length ? `${s.decimal_lengths.at(-1).digits} in the end` : ''} />
      </dl>
    </>
  )
}

function lengthNow(s, now) {
  const list = s.decimal_lengths.filter((l) => Date.parse(l.from) <= now)
  return (list.at(-1) || s.decimal_lengths[0]).digits
}

function Slider({ id, name, value, min, max, shown, change }) {
  return (
    <div class="slider">
      <label for={id}>{name}</label>
      <input id={id} type="range" min={min} max={max} value={value} aria-valuetext={shown} onInput={(e) => change(Number(e.currentTarget.value))} />
      <output for={id} class="num">
        {shown}
      </output>
    </div>
  )
}
