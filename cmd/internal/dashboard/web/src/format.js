// Numbers and times for people.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export const count = (n) => whole.format(n)

const scales = [
  [1e15, 'quadrillion'],
  [1e12, 'trillion'],
  [1e9, 'billion'],
  [1e6, 'million'],
]

/** 12,400 or 4.19 million */
export function large(n) {
  for (const [scale, word] of scales) if (n >= scale) return `${digits(n / scale)} ${word}`
  return n >= 100 ? count(n) : digits(n)
}

/** 12,400 or 4.19 M: for axes and tiles. The unit stands apart so that it can be set smaller. */
export function short(n) {
  if (n >= 1e9) return [digits(n / 1e9), 'G']
  if (n >= 1e6) return [digits(n / 1e6), 'M']
  if (n >= 1e5) return [digits(n / 1e3), 'k']
  return [n > 0 && n < 10 ? digits(n) : count(n), '']
}

export function digits(n) {
  if (n === 0) return '0'
  const places = n >= 100 ? 0 : n >= 10 ? 1 : 2
  return n.toFixed(places).replace(/\.0+$|(\.\d*[1-9])0+$/, '$1')
}

/** A duration in ms as [number, unit]. */
export function took(ms) {
  if (ms == null) return ['–', '']
  if (ms < 0.001) return [digits(ms * 1000), 'µs']
  if (ms < 1) return [String(Math.round(ms * 1000)), 'µs']
  if (ms < 1000) return [digits(ms), 'ms']
  return [digits(ms / 1000), 's']
}

const day = 86400e3

/** How long until something, in the largest unit that says enough. */
export function span(ms) {
  const a = Math.abs(ms)
  if (a < 60e3) return `${Math.round(a / 1000)} s`
  if (a < 3600e3) return `${Math.round(a / 60e3)} min`
  if (a < 2 * day) return `${digits(Math.round(a / 360e3) / 10)} h`
  if (a < 2 * 365.2425 * day) return `${count(a / day)} days`
  return `${digits(a / day / 365.2425)} years`
}

export const ago = (ms) => (ms >= 0 ? `${span(ms)} ago` : `in ${span(ms)}`)

export const clock = (t) => new Date(t).toLocaleTimeString('en-GB')

/** 2026-11-21 14:05:09, by this machine's clock */
export const local = (t) => `${new Date(t).toLocaleDateString('sv-SE')} ${clock(t)}`

/** The same without the date of today. */
export const moment = (t, now) => (new Date(t).toDateString() === new Date(now).toDateString() ? clock(t) : local(t))

/** 2026-11-21 14:05:09 UTC */
export function utc(t, part = 19) {
  const d = new Date(t)
  return Number.isNaN(d.getTime()) ? '–' : d.toISOString().replace('T', ' ').slice(0, part)
}

export const date = (t) => (new Date(t).getUTCFullYear() >= 9999 ? 'after 9999' : utc(t, 10))

/** The label of a server where it is said that it is one. */
export const server = (label) => label.replace(/^server /, '')
