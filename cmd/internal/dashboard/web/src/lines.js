// What of a series is drawn.

const gap = 5 // seconds: samples come each second, and one or two may come late

/** The pieces of a line, each as [path, x of its begin]: where there is no value there is no line. One value alone is a dot. */
export function pieces(times, values, x, y) {
  const out = []
  let points = 0
  values.forEach((v, i) => {
    if (v == null || y(v) == null) return (points = 0)
    if (points && times[i] - times[i - 1] > gap) points = 0
    if (points === 0) out.push([`M${x(times[i]).toFixed(1)} ${y(v).toFixed(1)}h0`, x(times[i])])
    else out.at(-1)[0] += `L${x(times[i]).toFixed(1)} ${y(v).toFixed(1)}`
    points++
  })
  return out
}
