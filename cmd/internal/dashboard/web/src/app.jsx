import { useEffect, useRef, useState } from 'preact/hooks'
import { connect, initial, present } from './live.js'
import { hasToken, setToken } from './api.js'
import { SignIn } from './signin.jsx'
import { Overview } from './overview.jsx'
import { Namespace } from './namespace.jsx'
import { Decode } from './decode.jsx'
import { ThemeSwitch, useTheme } from './theme.jsx'
import { moment, span } from './format.js'

const views = [
  ['', 'Overview'],
  ['decode', 'Decode'],
]

function useRoute() {
  const read = () => {
    const [path, query] = location.hash.replace(/^#\/?/, '').split('?')
    return { path: path.split('/').map(decodeURIComponent), query: new URLSearchParams(query) }
  }
  const [route, set] = useState(read)
  useEffect(() => {
    const on = () => set(read())
    addEventListener('hashchange', on)
    return () => removeEventListener('hashchange', on)
  }, [])
  return route
}

export function App() {
  const [live, setLive] = useState(initial)
  const [signIns, again] = useState(0)
  const [theme, setTheme] = useTheme()
  const route = useRoute()
  const main = useRef(null)
  const view = route.path[0]

  useEffect(() => connect(setLive), [signIns])

  const title = view === 'ns' ? route.path[1] : views.find(([v]) => v === view)?.[1] || 'Overview'
  const shown = useRef(null)
  useEffect(() => {
    document.title = `${title} · ${live.hello?.label || 'Snowfence'}`
    if (shown.current !== null && shown.current !== title) main.current?.focus({ preventScroll: true }) // keyboards and readers go on at the new view
    shown.current = title
  }, [title, live.hello?.label])

  const leave = () => {
    setToken('')
    setLive(initial())
    again((n) => n + 1)
  }
  const enter = (t) => {
    setToken(t)
    setLive(initial())
    again((n) => n + 1)
  }
  const refused = live.connection === 'refused'
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), main.current.focus())}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="#/">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path d="M8 6v20M16 6v20M24 6v20M4 12h24M4 20h24" />
          </svg>
          Snowfence
        </a>
        {!refused && (
          <nav aria-label="Views">
            {views.map(([path, name]) => (
              <a key={path} href={`#/${path}`} aria-current={view === path || (path === '' && view === 'ns') ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </nav>
        )}
        <div class="tools">
          <Connection live={live} />
          <ThemeSwitch theme={theme} set={setTheme} />
          {hasToken() && !refused && (
            <button type="button" class="quiet" onClick={leave}>
              Sign out
            </button>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        {refused ? (
          <SignIn error={live.error} enter={enter} tried={hasToken()} />
        ) : (
          <>
            <Banner live={live} />
            {view === 'ns' ? (
              <Namespace key={route.path[1]} name={route.path[1]} live={live} theme={theme} />
            ) : view === 'decode' ? (
              <Decode live={live} given={route.query} />
            ) : (
              <Overview live={live} />
            )}
          </>
        )}
      </main>
      <footer class="foot muted">
        IDs are unique within one namespace of one store.
      </footer>
    </>
  )
}

function Connection({ live }) {
  const [mark, text] = {
    connecting: ['◌', 'Connecting'],
    live: ['●', 'Live'],
    lost: ['○', 'Reconnecting'],
    refused: ['○', 'Signed out'],
  }[live.connection]
  return (
    <span class={`connection ${live.connection}`} role="status">
      <span aria-hidden="true">{mark}</span> {text}
    </span>
  )
}

function Banner({ live }) {
  if (live.connection === 'lost') {
    return (
      <p class="banner warn" role="alert">
        <b>The server does not answer.</b> Trying again. The figures below are from {live.last ? moment(live.last.t, Date.now()) : 'before'}.
      </p>
    )
  }
  if (!live.store.away) return null
  const now = present(live)
  const until = [...live.spaces.values()].filter((s) => s.held).map((s) => s.until)
  const left = until.length > 0 ? Math.min(...until) - now : 0
  return (
    <p class="banner bad" role="alert">
      <b>
        The store has not answered since {moment(live.store.since, now)}, for {span(now - live.store.since)}.
      </b>{' '}
      {left > 0 ? `This server makes IDs for ${span(left)} more, as far as it has leased.` : 'This server holds no lease, and makes no IDs until the store is back.'}
      <span class="cause">{live.store.cause}</span>
    </p>
  )
}
