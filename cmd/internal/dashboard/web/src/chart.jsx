import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { clock } from './format.js'

/**
 * A chart over time. lines: [{label, values, token (of a colour), dash, fill}]; format(v) writes a value. It grows from two minutes to a quarter of an
 * hour. The values at the pointer stand in the heading, where nothing moves.
 */
export function Chart({ title, times, lines, format, theme, summary, empty }) {
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
        width: Math.max(box.current.clientWidth, 200),
        height: 190,
        padding: [10, 22, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
        hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
        scales: {
          x: { range: (_, min, max) => (max == null ? [0, 1] : [Math.max(min, max - 900) > max - 120 ? max - 120 : Math.max(min, max - 900), max]) },
          y: { range: (_, min, max) => [0, max > 0 ? max * 1.15 : 1] },
        },
        axes: [
          { ...axis, space: 70, size: 28, values: (_, list) => list.map((t) => clock(t * 1000).slice(0, t % 60 ? 8 : 5)) },
          { ...axis, size: 62, space: 40, values: (_, list) => list.map(format) },
        ],
        series: [
          {},
          ...lines.map((l) => ({
            label: l.label,
            stroke: v(l.token),
            width: 2,
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
    const resize = new ResizeObserver(() => made.setSize({ width: Math.max(at.clientWidth, 200), height: 190 }))
    resize.observe(at)
    return () => {
      resize.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [theme, lines.length])

  useEffect(() => plot.current?.setData(data))

  const i = at != null && at < times.length ? at : times.length - 1
  const value = (l) => {
    let v = l.values[i]
    for (let k = i; v == null && k >= 0 && at == null; k--) v = l.values[k]
    return v == null ? '–' : format(v)
  }
  return (
    <section class="card chart">
      <header class="chart-head">
        <h2>{title}</h2>
        <span class="muted at">{at != null && times[i] ? clock(times[i] * 1000) : 'now'}</span>
        <ul class="legend">
          {lines.map((l) => (
            <li key={l.label}>
              <svg class="key" viewBox="0 0 20 4" aria-hidden="true">
                <line x1="0" y1="2" x2="20" y2="2" stroke={`var(${l.token})`} stroke-width="3" stroke-dasharray={l.dash ? '5 3' : ''} />
              </svg>
              {l.label} <b class="num">{value(l)}</b>
            </li>
          ))}
        </ul>
      </header>
      <div class="plot" role="img" aria-label={summary} ref={box}>
        {times.length === 0 && <p class="overlay muted">{empty || 'The first figures come in a second.'}</p>}
      </div>
    </section>
  )
}
