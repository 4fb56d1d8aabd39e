// What of a series is drawn.

const gap = 5 // seconds: samples come each second, and one or two may come late

/** The pieces of a line, each as [path, x of its begin]: where there is no value there is no line. One value alone is a dot. */
export function pieces(times, values, x, y, most = gap) {
  const out = []
  let points = 0
  values.forEach((v, i) => {
    if (v == null || y(v) == null) return (points = 0)
    if (points && times[i] - times[i - 1] > most) points = 0
    if (points === 0) out.push([`M${x(times[i]).toFixed(1)} ${y(v).toFixed(1)}h0`, x(times[i])])
    else out.at(-1)[0] += `L${x(times[i]).toFixed(1)} ${y(v).toFixed(1)}`
    points++
  })
  return out
}

const column = 4 // pixels

/**
 * A value for each column of a picture, because more of them draw a barcode: the lowest, the median and the highest of the samples in it. most is how many
 * seconds may lie between two columns without a gap.
 */
export function columns(times, values, x) {
  const out = { times: [], low: [], middle: [], high: [], most: gap }
  for (let from = 0, i = 1; i <= times.length; i++) {
    if (i < times.length && Math.floor(x(times[i]) / column) === Math.floor(x(times[from]) / column)) continue
    const here = values.slice(from, i).filter((v) => v != null).sort((a, b) => a - b)
    out.times.push(times[i - 1])
    out.low.push(here[0] ?? null)
    out.middle.push(here[Math.floor((here.length - 1) / 2)] ?? null)
    out.high.push(here.at(-1) ?? null)
    out.most = Math.max(out.most, gap + times[i - 1] - times[from])
    from = i
  }
  return out
}

/** The area between the lowest and the highest values, as a path; nothing where there are no values. */
export function band({ times, low, high, most }, x, y) {
  let path = ''
  let [top, bottom] = [[], []]
  const end = () => {
    if (top.length > 1) path += `M${top.join('L')}L${bottom.join('L')}Z`
    ;[top, bottom] = [[], []]
  }
  times.forEach((t, i) => {
    if (low[i] == null || y(low[i]) == null || (i > 0 && t - times[i - 1] > most)) end()
    if (low[i] == null || y(low[i]) == null) return
    top.push(`${x(t).toFixed(1)} ${y(high[i]).toFixed(1)}`)
    bottom.unshift(`${x(t).toFixed(1)} ${y(low[i]).toFixed(1)}`)
  })
  end()
  return path
}
