import { useEffect, useState } from 'preact/hooks'
import { post } from './api.js'
import { Bits } from './bits.jsx'
import { Copy } from './copy.jsx'
import { ago, count, utc } from './format.js'

export function Decode({ live, given }) {
  const [text, setText] = useState(given.get('id') || '')
  const [where, setWhere] = useState(given.get('namespace') ? `ns:${given.get('namespace')}` : '')
  const [spec, setSpec] = useState('')
  const [answer, set] = useState(null)
  const [error, setError] = useState(null)
  const [chosen, choose] = useState(0)

  useEffect(() => {
    if (!text.trim()) {
      set(null)
      setError(null)
      return
    }
    const end = new AbortController()
    const timer = setTimeout(() => {
      const q = { text }
      if (where.startsWith('ns:')) q.namespace = where.slice(3)
      else if (where === 'spec') q.layout = spec
      else if (where) q.layout = where
      post('decode', q, end.signal)
        .then((a) => (set(a), setError(null), choose(0)))
        .catch((err) => !end.signal.aborted && (setError(err.message), set(null)))
    }, 150)
    return () => (clearTimeout(timer), end.abort())
  }, [text, where, spec])

  const presets = live.hello?.presets || []
  const r = answer?.readings[chosen]
  return (
    <>
      <h1>Decode an ID</h1>
      <section class="card form">
        <div class="wide">
          <label for="id">ID</label>
          <input
            id="id" class="big mono" value={text} onInput={(e) => setText(e.currentTarget.value)} autocomplete="off" autocapitalize="off"
            spellcheck={false} placeholder="2083727055179621056" aria-describedby="forms"
          />
          <p id="forms" class="muted">Decimal, hexadecimal, base32hex, Crockford, base36, base58, base62, base64url; a prefix such as ord_ may stand in front.</p>
        </div>
        <div>
          <label for="where">Layout</label>
          <select id="where" value={where} onChange={(e) => setWhere(e.currentTarget.value)}>
            <option value="">guess it</option>
            <optgroup label="Namespaces">
              {(live.namespaces || []).map((n) => (
                <option key={n.name} value={`ns:${n.name}`}>
                  {n.name}
                </option>
              ))}
            </optgroup>
            <optgroup label="Known layouts">
              {presets.filter((p) => !p.layout.includes('cipher=')).map((p) => (
                <option key={p.name} value={p.name}>
                  {p.name}
                </option>
              ))}
            </optgroup>
            <option value="spec">another one …</option>
          </select>
        </div>
        {where === 'spec' && (
          <div class="wide">
            <label for="spec">Layout, as a spec</label>
            <input id="spec" class="mono" value={spec} onInput={(e) => setSpec(e.currentTarget.value)} placeholder="time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms" />
          </div>
        )}
      </section>
      <div aria-live="polite">
        {error && <p class="banner warn">{error}</p>}
        {!text.trim() && (
          <div class="card empty muted">
            <p>Paste an ID from a log, a URL or a table. Nothing is sent but to this server.</p>
          </div>
        )}
        {answer && answer.readings.length === 0 && <p class="card empty muted">No layout known gives it a time between its epoch and now. Choose the layout if you know it.</p>}
        {r && <Reading r={r} now={Date.now() - live.skew} />}
      </div>
      {answer && answer.readings.length > 1 && (
        <section class="card">
          <h2>All readings</h2>
          <ul class="readings">
            {answer.readings.map((o, i) => (
              <li key={i}>
                <button type="button" class="row" aria-pressed={i === chosen} onClick={() => choose(i)}>
                  <b>{o.name}</b>
                  <span class="num">{utc(o.time)}</span>
                  <span class="muted">
                    read as {o.encodings.join(', ')}
                    {o.odd && `; ${o.odd}`}
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {answer.more > 0 && <p class="muted">{answer.more} more are less likely.</p>}
        </section>
      )}
    </>
  )
}

function Reading({ r, now }) {
  const at = Date.parse(r.time)
  const values = Object.fromEntries(r.fields.map((f) => [f.name, f.value]))
  return (
    <section class="card reading">
      <div class="head">
        <h2 class="mono">{r.id}</h2>
        <Copy text={r.id} what="the ID" />
      </div>
      <p class="muted">
        {r.space ? 'Namespace' : 'Layout'} <b>{r.name}</b>, read as {r.encodings.join(' or ')}
        {r.encrypted && ', decrypted by the server'}
        {r.odd && <span class="flag"> {r.odd}</span>}
      </p>
      <p class="when">
        <span class="num">{r.time.replace('T', ' ').replace('Z', '')}</span> <span class="unit">UTC</span>
        <span class="muted">, {ago(now - at)}</span>
      </p>
      <Bits fields={r.fields} values={values} />
      <div class="pair">
        <table class="plain">
          <caption>Fields</caption>
          <tbody>
            {r.fields.map((f) => (
              <tr key={f.name}>
                <th scope="row">{f.name}</th>
                <td class="num">{count(BigInt(f.value))}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <table class="plain">
          <caption>The same ID, written otherwise</caption>
          <tbody>
            {r.forms.map(([name, form]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="mono">{form}</td>
                <td class="narrow">
                  <Copy text={form} what={`as ${name}`} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
