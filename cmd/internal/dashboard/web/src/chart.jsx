import { useEffect, useRef, useState } from 'preact/hooks'
import { clock } from './format.js'
import { band, columns, pieces } from './lines.js'

const decade = (v) => Math.floor(Math.log10(v) + 1e-9)
const room = { left: 62, right: 28, top: 10, bottom: 28 }

/** The decades around all values, at least two, so that a curve that hardly moves lies flat. */
function decades(min, max) {
  const low = decade(min)
  return [10 ** low, 10 ** Math.max(decade(max) + 1, low + 2)]
}

/** Where a logarithmic axis has its lines: each power of ten, and with few of them 3 times that. */
function powers(min, max) {
  const steps = decade(max) - decade(min) > 2 ? [1] : [1, 3]
  const out = []
  for (let d = decade(min); d <= decade(max); d++) for (const s of steps) if (s * 10 ** d <= max * 1.001) out.push(s * 10 ** d)
  return out
}

/** The first of 1, 2, 5, 10, 20 … that is not below a number. */
const roundStep = (least) => [1, 2, 5, 10].map((s) => s * 10 ** decade(least)).find((s) => s >= least * (1 - 1e-9))

/** Round numbers from min to max, with at most so many steps between them. */
function rounds(min, max, most, steps) {
  const step = steps ? (steps.find((s) => (max - min) / s <= most) ?? max - min) : roundStep((max - min) / most)
  const out = []
  for (let i = Math.ceil(min / step); i * step <= max * (1 + 1e-9); i++) out.push(i * step)
  return out
}

/** From two minutes up to a quarter of an hour. */
function span(times) {
  const max = times.at(-1)
  return max == null ? [0, 1] : [Math.min(Math.max(times[0], max - 900), max - 120), max]
}

/** From 0 to the first round number that no value is above, or between powers of ten; null where there is nothing but 0. */
function reach(lines, log, most) {
  let [min, max] = [Infinity, 0]
  for (const l of lines) {
    for (const v of l.values) {
      if (v > 0) min = Math.min(min, v)
      if (v > max) max = v
    }
  }
  if (log) return max > 0 ? decades(min, max) : null
  const step = max > 0 && roundStep(max / most)
  return max > 0 ? [0, Math.ceil(max / step - 1e-9) * step] : null
}

function useSize(box) {
  const [size, setSize] = useState(null)
  useEffect(() => {
    const at = box.current // the reference is empty already when a chart is taken away
    const observed = new ResizeObserver(() => setSize([Math.max(at.clientWidth, 200), Math.max(at.clientHeight, 150)]))
    observed.observe(at)
    return () => observed.disconnect()
  }, [])
  return size
}

/**
 * A chart over time. lines: [{group, label, values, token (of a colour), dash, fill, latest}]; the lines of a group follow each other and share its name in the
 * legend. format(v) writes a value. With log the axis is logarithmic. The values at the pointer stand in the heading, where nothing moves; without a pointer
 * the latest, which are of the time that present says. Where these are stale it says when they were. Charts that share a pointer (the time it is at, and what
 * sets it) show the same time.
 */
export function Chart({ title, times, lines, format, summary, empty, log, pointer, present = 'now', stale }) {
  const box = useRef(null)
  const size = useSize(box)
  const own = useState(null)
  const [at, setAt] = pointer || own
  const [from] = span(times)
  let i = times.length - 1
  if (at != null) while (i > 0 && times[i - 1] >= from && Math.abs(times[i - 1] - at) <= Math.abs(times[i] - at)) i--
  const value = (l) => {
    const v = at == null && l.latest !== undefined ? l.latest : l.values[i]
    return v == null ? '–' : format(v)
  }
  const when = at == null && !stale ? present : clock(times[i] * 1000)
  return (
    <section class="card chart">
      <header class="chart-head">
        <h2>{title}</h2>
        <span class="muted at">{times.length > 0 && when}</span>
        {lines[0]?.group ? <Groups lines={lines} value={value} /> : <List lines={lines} value={value} />}
      </header>
      <div class="plot" role="img" aria-label={summary} ref={box}>
        {size && <Plot size={size} times={times} lines={lines} format={format} log={log} chosen={at == null ? null : i} setAt={setAt} />}
        {(times.length === 0 || lines.length === 0) && <p class="overlay muted">{times.length === 0 ? 'The first figures come in a second.' : empty}</p>}
      </div>
    </section>
  )
}

/** The picture: the same lines, labels and colours as in the pictures of snowfence audit. */
function Plot({ size: [width, height], times, lines, format, log, chosen, setAt }) {
  const [from, to] = span(times)
  const right = width - room.right
  const bottom = height - room.bottom
  const steps = Math.floor((bottom - room.top) / 40)
  const scale = reach(lines, log, steps)
  const [low, high] = scale || [0.01, 10]
  const wide = right - room.left
  const share = log ? (v) => Math.log(v / low) / Math.log(high / low) : (v) => v / high
  const x = (t) => room.left + ((t - from) / (to - from)) * wide
  const y = (v) => (log && !(v > 0) ? null : bottom - share(v) * (bottom - room.top))
  const values = !scale ? (log || lines.length === 0 ? [] : [0]) : log ? powers(low, high) : rounds(0, high, steps)
  const marks = times.length ? rounds(from, to, Math.floor(wide / 70), [1, 2, 5, 10, 15, 30, 60, 120, 300, 600]) : []
  const drawn = lines.map((l) => {
    const c = columns(times, l.values, x)
    return { ...l, d: pieces(c.times, c.middle, x, y, c.most), band: band(c, x, y), colour: `var(${l.token})` }
  })
  const move = (e) => {
    const px = e.clientX - e.currentTarget.getBoundingClientRect().left
    setAt(px < room.left || px > right ? null : from + ((px - room.left) / wide) * (to - from))
  }
  return (
    <svg width={width} height={height} aria-hidden="true" onPointerMove={move} onPointerLeave={() => setAt(null)}>
      {values.map((v) => (
        <g key={v}>
          <path class="grid" d={`M${room.left} ${y(v)}H${right}`} />
          <text class="end" x={room.left - 8} y={y(v) + 4}>
            {format(v)}
          </text>
        </g>
      ))}
      <svg x={room.left} width={wide} height={bottom} viewBox={`${room.left} 0 ${wide} ${bottom}`}>
        {drawn.map((l) => l.fill && <path key={l.label} d={l.d.map(([d, from]) => `${d}V${bottom}H${from.toFixed(1)}Z`).join('')} fill={l.colour} fill-opacity="0.13" />)}
        {drawn.map((l) => l.band && <path key={(l.group || '') + l.label} d={l.band} fill={l.colour} fill-opacity="0.22" />)}
        {drawn.map((l) => (
          <path key={(l.group || '') + l.label} class="line" d={l.d.map(([d]) => d).join('')} stroke={l.colour} stroke-width={l.dash ? 1.25 : 2} stroke-dasharray={l.dash?.join(' ')} />
        ))}
      </svg>
      <path class="base" d={`M${room.left} ${bottom}H${right}`} />
      {marks.map((t) => (
        <g key={t}>
          <path class="base" d={`M${x(t)} ${bottom}v5`} />
          <text class="middle" x={x(t)} y={bottom + 19}>
            {clock(t * 1000).slice(0, t % 60 ? 8 : 5)}
          </text>
        </g>
      ))}
      {chosen != null && times[chosen] && (
        <>
          <path class="base" d={`M${x(times[chosen])} ${room.top}V${bottom}`} />
          {drawn.map((l) => {
            const v = l.values[chosen]
            return v != null && y(v) != null && <circle key={(l.group || '') + l.label} cx={x(times[chosen])} cy={y(v)} r="3.5" fill={l.colour} />
          })}
        </>
      )}
    </svg>
  )
}

function Key({ line }) {
  return (
    <svg class="key" viewBox="0 0 20 4" aria-hidden="true">
      <line x1="0" y1="2" x2="20" y2="2" stroke={`var(${line.token})`} stroke-width={line.dash ? 2 : 3} stroke-dasharray={line.dash ? '5 3' : ''} />
    </svg>
  )
}

function List({ lines, value }) {
  return (
    <ul class="legend">
      {lines.map((l) => (
        <li key={l.label}>
          <Key line={l} />
          {l.label} <b class="num">{value(l)}</b>
        </li>
      ))}
    </ul>
  )
}

/** A legend with a row for each group. */
function Groups({ lines, value }) {
  const groups = [...new Set(lines.map((l) => l.group))]
  return (
    <table class="legend">
      <thead>
        <tr>
          <td />
          {lines.filter((l) => l.group === groups[0]).map((l) => (
            <th key={l.label} scope="col">
              {l.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr key={group}>
            <th scope="row">{group}</th>
            {lines.filter((l) => l.group === group).map((l) => (
              <td key={l.label} class="num">
                <Key line={l} />
                <b>{value(l)}</b>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
