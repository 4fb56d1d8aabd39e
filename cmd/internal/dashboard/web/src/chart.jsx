import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { clock } from './format.js'

const decade = (v) => Math.floor(Math.log10(v) + 1e-9)

/** The decades around all values, at least two, so that a curve that hardly moves lies flat. */
function decades(min, max) {
  const low = decade(min)
  return [10 ** low, 10 ** Math.max(decade(max) + 1, low + 2)]
}

/** Where a logarithmic axis has its lines: each power of ten, and with few of them 2 and 5 times that. */
function powers(min, max) {
  const steps = decade(max) - decade(min) > 2 ? [1] : [1, 3]
  const out = []
  for (let d = decade(min); d <= decade(max); d++) for (const s of steps) if (s * 10 ** d <= max * 1.001) out.push(s * 10 ** d)
  return out
}

const size = (box) => ({ width: Math.max(box.clientWidth, 200), height: Math.max(box.clientHeight, 150) })

/**
 * A chart over time. lines: [{group, label, values, token (of a colour), dash, fill}]; those of a group follow each other and share its name in the legend.
 * format(v) writes a value. With log the axis is logarithmic. It grows from two minutes to a quarter of an hour. The values at the pointer stand in the heading,
 * where nothing moves, and those of all charts at the same time.
 */
export function Chart({ title, times, lines, format, theme, summary, empty, log }) {
  const box = useRef(null)
  const plot = useRef(null)
  const [at, setAt] = useState(null)
  const data = [times, ...lines.map((l) => l.values)]

  useEffect(() => {
    const css = getComputedStyle(document.documentElement)
    const v = (name) => css.getPropertyValue(name).trim()
    const axis = { stroke: v('--muted'), grid: { stroke: v('--grid'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' }
    plot.current = new uPlot(
      {
        ...size(box.current),
        padding: [10, 28, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false }, sync: { key: 'time', setSeries: false } },
        hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
        scales: {
          x: { range: (_, min, max) => (max == null ? [0, 1] : [Math.max(min, max - 900) > max - 120 ? max - 120 : Math.max(min, max - 900), max]) },
          y: log
            ? { distr: 3, range: (_, min, max) => (min > 0 ? decades(min, max) : [0.01, 10]) }
            : { range: (_, min, max) => [0, max > 0 ? max * 1.15 : 1] },
        },
        axes: [
          { ...axis, space: 70, size: 28, values: (_, list) => list.map((t) => clock(t * 1000).slice(0, t % 60 ? 8 : 5)) },
          { ...axis, size: 62, space: 40, values: (_, list) => list.map(format), ...(log && { splits: (_, i, min, max) => powers(min, max), filter: (_, list) => list }) },
        ],
        series: [
          {},
          ...lines.map((l) => ({
            label: l.label,
            stroke: v(l.token),
            width: l.dash ? 1.25 : 2,
            dash: l.dash,
            fill: l.fill ? `${v(l.token)}22` : undefined,
            points: { show: false },
            spanGaps: true,
          })),
        ],
      },
      data,
      box.current,
    )
    const at = box.current
    const made = plot.current
    const resize = new ResizeObserver(() => made.setSize(size(at)))
    resize.observe(at)
    return () => {
      resize.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [theme, lines.map((l) => l.token + l.label).join()])

  useEffect(() => plot.current?.setData(data))

  const i = at != null && at < times.length ? at : times.length - 1
  const value = (l) => {
    let v = l.values[i]
    for (let k = i; v == null && k >= Math.max(i - 60, 0) && at == null; k--) v = l.values[k] // what was rare is still the present for a minute
    return v == null ? '–' : format(v)
  }
  return (
    <section class="card chart">
      <header class="chart-head">
        <h2>{title}</h2>
        <span class="muted at">{at != null && times[i] ? clock(times[i] * 1000) : 'now'}</span>
        {lines[0]?.group ? <Groups lines={lines} value={value} /> : <List lines={lines} value={value} />}
      </header>
      <div class="plot" role="img" aria-label={summary} ref={box}>
        {(times.length === 0 || lines.length === 0) && <p class="overlay muted">{times.length === 0 ? 'The first figures come in a second.' : empty}</p>}
      </div>
    </section>
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
