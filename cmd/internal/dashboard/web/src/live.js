// What the server tells of itself, as one object that changes once a second.

import { follow } from './api.js'

const kept = 900

export function emptySeries() {
  return { times: [], rates: [], p50: [], p99: [] }
}

export function push(s, t, rate, p50, p99) {
  s.times.push(t / 1000)
  s.rates.push(rate)
  s.p50.push(p50 < 0 ? null : p50)
  s.p99.push(p99 < 0 ? null : p99)
  if (s.times.length > kept) for (const list of Object.values(s)) list.shift()
}

export function fromHistory(h) {
  const none = (v) => (v < 0 ? null : v)
  return { times: h.times.map((t) => t / 1000), rates: h.rates, p50: h.p50.map(none), p99: h.p99.map(none) }
}

export function initial() {
  return {
    connection: 'connecting', // connecting, live, lost, refused
    error: null,
    hello: null,
    namespaces: null, // null until known
    spaces: new Map(), // what this server does in each
    store: { away: false },
    series: emptySeries(),
    last: null,
    events: [],
    skew: 0, // this machine's clock minus the server's, in ms
    version: 0,
  }
}

/** Follows the server and calls change with a new state object, until stop is called. */
export function connect(change) {
  let s = initial()
  const end = new AbortController()
  const update = (part) => {
    s = { ...s, ...part, version: s.version + 1 }
    change(s)
  }
  const on = {
    hello: (d) => update({ hello: d, skew: Date.now() - d.now, spaces: new Map(), events: [] }),
    namespaces: (d) => update({ namespaces: d }),
    store: (d) => update({ store: d }),
    history: (d) => update({ series: fromHistory(d) }),
    events: (d) => update({ events: [...d.reverse(), ...s.events].slice(0, 200) }),
    denied: (d) => update({ connection: 'refused', error: { status: 401, message: d } }),
    sample: (d) => {
      const spaces = new Map(s.spaces)
      for (const name of d.gone || []) spaces.delete(name)
      for (const sp of d.spaces || []) spaces.set(sp.name, sp)
      if (s.series.times.at(-1) !== d.t / 1000) push(s.series, d.t, d.total, d.p50, d.p99)
      update({ spaces, last: d })
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
