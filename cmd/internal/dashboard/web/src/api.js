// Talking to the server. The token is kept in this tab only, and goes into a header, never into an address.

const key = 'snowfence-token'
let token = read()

function read() {
  try {
    return sessionStorage.getItem(key) || ''
  } catch {
    return ''
  }
}

export const hasToken = () => token !== ''

export function setToken(t) {
  token = t
  try {
    if (t) sessionStorage.setItem(key, t)
    else sessionStorage.removeItem(key)
  } catch {
    // storage is switched off: the token lasts until the page is loaded again
  }
}

/** What the server refused, with the kind and status of its problem document. */
export class Refusal extends Error {
  constructor(status, kind, detail) {
    super(detail)
    this.status = status
    this.kind = kind
  }
}

async function ask(path, options = {}, base = './api/') {
  const headers = { ...(options.headers || {}) }
  if (token) headers.Authorization = `Bearer ${token}`
  const r = await fetch(`${base}${path}`, { ...options, headers, credentials: 'same-origin', cache: 'no-store' })
  if (r.ok) return r
  let kind = ''
  let detail = `the server answered with status ${r.status}`
  try {
    const p = await r.json()
    kind = p.kind || ''
    detail = p.detail || detail
  } catch {
    // not a problem document: something between us and the server answered
  }
  throw new Refusal(r.status, kind, detail)
}

export async function get(path, params, signal) {
  return (await ask(`${path}?${new URLSearchParams(params)}`, { signal })).json()
}

export async function post(path, body, signal) {
  const r = await ask(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' }, signal })
  return r.json()
}

/** Changes something below /v1, as every other client does. */
export async function change(method, path, body) {
  const content = body ? { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } } : {}
  await ask(path, { method, ...content }, '../v1/')
}

/**
 * Reads server-sent events until the signal aborts, and starts again when the stream ends. on(kind, data) gets each event; state(name, error) is told
 * 'live', 'lost' (it will try again) or 'refused' (it will not). silence is after how many ms without an event the stream counts as dead.
 */
export async function follow(path, { signal, silence, on, state }) {
  let wait = 300
  while (!signal.aborted) {
    const attempt = new AbortController()
    const stop = () => attempt.abort()
    signal.addEventListener('abort', stop, { once: true })
    let timer = setTimeout(stop, silence)
    try {
      const r = await ask(path, { signal: attempt.signal, headers: { Accept: 'text/event-stream' } })
      for await (const [kind, data] of events(r.body)) {
        clearTimeout(timer)
        timer = setTimeout(stop, silence)
        wait = 300
        state('live')
        on(kind, data)
      }
      state('lost', new Error('the server ended the connection'))
    } catch (err) {
      if (signal.aborted) return
      if (err instanceof Refusal && (err.status === 401 || err.status === 403 || err.status === 404)) {
        state('refused', err)
        return
      }
      state('lost', err)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      attempt.abort()
    }
    await pause(wait, signal)
    wait = Math.min(wait * 2, 5000)
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    rest += value
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n')
      rest = rest.slice(end + 2)
      const field = (name) => lines.find((l) => l.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data !== undefined) yield [field('event'), JSON.parse(data)]
    }
  }
}

function pause(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
  })
}
