// What the server tells of itself, as one object that changes once a second.

import { follow } from './api.js'

const kept = 900

export function emptySeries() {
  return { times: [], rates: [], failed: [], refused: [], store: emptyTimings(0), wires: {} }
}

const emptyTimings = (n) => ({ rate: Array(n).fill(0), p50: Array(n).fill(null), p99: Array(n).fill(null) })
const none = (v) => (v < 0 ? null : v) // a time where there was nothing

/** Adds a sample of the server, which leaves out wires that had no requests, with the rate that is asked for. */
export function push(s, d, rate) {
  const n = s.times.length
  s.times.push(d.t / 1000)
  s.rates.push(rate)
  s.failed.push(d.failed)
  s.refused.push(d.refused)
  for (const name of Object.keys(d.wires || {})) s.wires[name] ||= emptyTimings(n)
  const lists = [s.times, s.rates, s.failed, s.refused]
  for (const [name, list] of [['', s.store], ...Object.entries(s.wires)]) {
    const t = (name === '' ? d.store : d.wires?.[name]) || { rate: 0, p50: -1, p99: -1 }
    list.rate.push(t.rate)
    list.p50.push(none(t.p50))
    list.p99.push(none(t.p99))
    lists.push(list.rate, list.p50, list.p99)
  }
  if (n >= kept) for (const list of lists) list.shift()
}

export function fromHistory(h) {
  const timings = (t) => ({ rate: t.rate, p50: t.p50.map(none), p99: t.p99.map(none) })
  return {
    times: h.times.map((t) => t / 1000), rates: h.rates, failed: h.failed, refused: h.refused, store: timings(h.store),
    wires: Object.fromEntries(Object.entries(h.wires).map(([name, t]) => [name, timings(t)])),
  }
}

export function initial() {
  return {
    connection: 'connecting', // connecting, live, lost, refused
    error: null,
    hello: null,
    namespaces: null, // null until known
    spaces: new Map(), // what this server does in each
    sequences: new Map(), // by name
    store: { away: false },
    ready: null, // null until known
    servers: [], // over the same store
    used: {}, // nodes held and leasable, by namespace
    minute: {}, // of the store and of each wire that had requests: how long they took
    failures: [],
    series: emptySeries(),
    last: null,
    skew: 0, // this machine's clock minus the server's, in ms
    version: 0,
  }
}

/** The server's time; while it does not answer, the time of the last figures. */
export const present = (live) => (live.connection === 'live' || !live.last ? Date.now() - live.skew : live.last.t)

/** Follows the server and calls change with a new state object, until stop is called. */
export function connect(change) {
  let s = initial()
  const end = new AbortController()
  const update = (part) => {
    s = { ...s, ...part, version: s.version + 1 }
    change(s)
  }
  const on = {
    hello: (d) => {
      update({ hello: d, skew: Date.now() - d.now, spaces: new Map(), sequences: new Map(), failures: [], servers: [] })
    },
    namespaces: (d) => update({ namespaces: d.namespaces.map((n) => ({ ...n, first_node: Number(n.first_node), last_node: Number(n.last_node), unit: Number(n.unit) })) }),
    store: (d) => update({ store: d }),
    ready: (d) => update({ ready: d }),
    servers: (d) => update({ servers: d.servers }),
    used: (d) => update({ used: d }),
    history: (d) => update({ series: fromHistory(d) }),
    denied: (d) => update({ connection: 'refused', error: { status: 401, message: d } }),
    sample: (d) => {
      const spaces = new Map(s.spaces)
      for (const name of d.gone || []) spaces.delete(name)
      for (const sp of d.spaces || []) spaces.set(sp.name, { ...sp, until: Date.parse(sp.until_time) })
      if (s.series.times.at(-1) !== d.t / 1000) push(s.series, d, d.total)
      const sequences = new Map(s.sequences)
      for (const name of d.gone_sequences || []) sequences.delete(name)
      for (const sq of d.sequences || []) sequences.set(sq.name, sq)
      update({ spaces, sequences, last: d, minute: d.minute, failures: d.failures || s.failures })
    },
  }
  follow('stream', {
    signal: end.signal,
    silence: 8000,
    on: (kind, data) => on[kind]?.(data),
    state: (connection, error) => {
      if (connection !== s.connection || connection !== 'live') update({ connection, error: error || null })
    },
  })
  return () => end.abort()
}
