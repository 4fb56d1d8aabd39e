import { useEffect, useRef, useState } from 'preact/hooks'
import { kinds } from './cells.js'

const glyphFrom = 9 // device pixels from which a square is large enough for a mark

/** How many columns, and how large a square is in device pixels: the largest that fit. Columns are a power of two, so that rows begin at round numbers. */
export function arrange(n, width, height) {
  let best = null
  for (let cols = 8; cols <= 4096; cols *= 2) {
    const size = Math.min(Math.floor(width / cols), 22)
    const rows = Math.ceil(n / cols)
    if (size < 1) break
    if (rows * size <= height && (!best || size > best.size)) best = { cols, rows, size }
  }
  if (best) return best
  const cols = 2 ** Math.max(3, Math.floor(Math.log2(width)))
  return { cols, rows: Math.ceil(n / cols), size: 1 }
}

function rgb(css) {
  const n = parseInt(css.slice(1), 16)
  return [n >> 16, (n >> 8) & 255, n & 255]
}

/**
 * The nodes of a namespace as squares on a canvas. One pixel a node is kept in a picture of its own; a change writes its pixels and blows the picture up, which
 * takes a millisecond for 131,072 of them.
 */
export function NodeMap({ cells, version, per, first, text, selected, select, theme }) {
  const canvas = useRef(null)
  const frame = useRef(null)
  const [width, setWidth] = useState(0)
  const [hover, setHover] = useState(null)
  const ratio = Math.min(window.devicePixelRatio || 1, 3)
  const grid = arrange(cells.length, Math.max(width * ratio, 100), 540 * ratio)

  useEffect(() => {
    const at = frame.current
    const o = new ResizeObserver(() => setWidth(at.clientWidth))
    o.observe(at)
    setWidth(at.clientWidth)
    return () => o.disconnect()
  }, [])

  useEffect(() => {
    const c = canvas.current
    if (!c || !width) return
    const css = getComputedStyle(document.documentElement)
    const colours = kinds.map((k) => rgb(css.getPropertyValue(`--cell-${k.name}`).trim()))
    const picture = new ImageData(grid.cols, grid.rows)
    for (let i = 0; i < cells.length; i++) {
      const p = colours[cells[i]]
      picture.data[4 * i] = p[0]
      picture.data[4 * i + 1] = p[1]
      picture.data[4 * i + 2] = p[2]
      picture.data[4 * i + 3] = 255
    }
    c.width = grid.cols * grid.size
    c.height = grid.rows * grid.size
    const g = c.getContext('2d')
    const small = new OffscreenCanvas(grid.cols, grid.rows)
    small.getContext('2d').putImageData(picture, 0, 0)
    g.imageSmoothingEnabled = false
    g.drawImage(small, 0, 0, c.width, c.height)
    if (grid.size >= 4) {
      for (let x = 1; x <= grid.cols; x++) g.clearRect(x * grid.size - 1, 0, 1, c.height)
      for (let y = 1; y <= grid.rows; y++) g.clearRect(0, y * grid.size - 1, c.width, 1)
    }
    if (grid.size >= glyphFrom) marks(g, grid, cells, css.getPropertyValue('--cell-mark').trim())
  }, [version, width, grid.cols, grid.size, theme, cells])

  const find = (e) => {
    const r = canvas.current.getBoundingClientRect()
    const x = Math.floor(((e.clientX - r.left) / r.width) * grid.cols)
    const y = Math.floor(((e.clientY - r.top) / r.height) * grid.rows)
    const i = y * grid.cols + x
    return x >= 0 && x < grid.cols && i >= 0 && i < cells.length ? i : null
  }
  const steps = {
    ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.cols, ArrowDown: grid.cols, PageUp: -grid.cols * 8, PageDown: grid.cols * 8, Home: -Infinity, End: Infinity,
  }
  const key = (e) => {
    let to
    if (e.key in steps) to = (selected ?? 0) + steps[e.key]
    else if (e.key === 'n' || e.key === 'N') to = nextNotable(cells, selected ?? -1, e.key === 'N' ? -1 : 1)
    else return
    e.preventDefault()
    select(Math.max(0, Math.min(cells.length - 1, to)))
  }
  /** Where a square is, for a ring around it: drawn apart, so that a pointer that moves does not draw the map again. */
  const ring = (i) => {
    const s = grid.size / ratio
    const grown = Math.max(s, 6) - s
    return { left: `${(i % grid.cols) * s - grown / 2}px`, top: `${Math.floor(i / grid.cols) * s - grown / 2}px`, width: `${s + grown}px`, height: `${s + grown}px` }
  }
  const name = (i) => (per > 1 ? `nodes ${i * per} to ${(i + 1) * per - 1}` : `node ${i}`)
  return (
    <div class="map" ref={frame}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="slider"
        aria-label="Nodes: arrow keys move, N goes to the next held one"
        aria-valuemin={0}
        aria-valuemax={cells.length - 1}
        aria-valuenow={selected ?? 0}
        aria-valuetext={selected == null ? 'none chosen' : `${name(selected)}: ${kinds[cells[selected]]?.text}. ${text}`}
        style={{ width: `${(grid.cols * grid.size) / ratio}px`, height: `${(grid.rows * grid.size) / ratio}px` }}
        onKeyDown={key}
        onPointerMove={(e) => setHover(find(e))}
        onPointerLeave={() => setHover(null)}
        onClick={(e) => {
          const i = find(e)
          if (i != null) select(i)
        }}
      />
      {hover != null && hover !== selected && hover < cells.length && <span class="ring" style={ring(hover)} />}
      {selected != null && selected < cells.length && <span class="ring chosen-ring" style={ring(selected)} />}
      <p class="hover muted" aria-hidden="true">
        {hover != null ? `${name(hover)}: ${kinds[cells[hover]]?.text}` : first != null && `${grid.cols} nodes a row${per > 1 ? `, ${per} nodes a square` : ''}`}
      </p>
    </div>
  )
}

const notable = new Set(kinds.flatMap((k, i) => (k.notable ? [i] : [])))

export function nextNotable(cells, from, step) {
  for (let n = 1; n <= cells.length; n++) {
    const i = (from + n * step + 2 * cells.length) % cells.length
    if (notable.has(cells[i])) return i
  }
  return Math.max(from, 0)
}

/** Marks for those who do not tell the colours apart: a stroke for overdue, a cross for vetoed, a dot for this server. */
function marks(g, grid, cells, colour) {
  g.strokeStyle = colour
  g.fillStyle = colour
  g.lineWidth = Math.max(1.5, grid.size / 9)
  for (let i = 0; i < cells.length; i++) {
    const kind = kinds[cells[i]]
    if (!kind.mark) continue
    const s = grid.size - 1
    const x = (i % grid.cols) * grid.size
    const y = Math.floor(i / grid.cols) * grid.size
    g.beginPath()
    if (kind.mark === 'dot') g.arc(x + s / 2, y + s / 2, s / 5, 0, 7)
    else {
      g.moveTo(x + s * 0.25, y + s * 0.75)
      g.lineTo(x + s * 0.75, y + s * 0.25)
      if (kind.mark === 'cross') {
        g.moveTo(x + s * 0.25, y + s * 0.25)
        g.lineTo(x + s * 0.75, y + s * 0.75)
      }
    }
    if (kind.mark === 'dot') g.fill()
    else g.stroke()
  }
}
