import { useEffect, useState } from 'preact/hooks'
import { post } from './api.js'
import { Bits } from './bits.jsx'
import { Copy } from './copy.jsx'

export function Decode({ live, given }) {
  const [text, setText] = useState(given.get('id') || '')
  const [where, setWhere] = useState(given.get('namespace') ? `ns:${given.get('namespace')}` : '')
  const [spec, setSpec] = useState('')
  const [answer, set] = useState(null)
  const [error, setError] = useState(null)

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
      post('decode', q, end.signal)
        .then((a) => (set(a), setError(null)))
        .catch((err) => !end.signal.aborted && (setError(err.message), set(null)))
    }, 150)
    return () => (clearTimeout(timer), end.abort())
  }, [text, where, spec])

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
            <option value="spec">another one …</option>
          </select>
        </div>
        {where === 'spec' && (
          <div class="wide">
            <label for="spec">Layout: a name or a spec</label>
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
        {answer?.map((c, i) => (
          <Card key={i} c={c} />
        ))}
      </div>
    </>
  )
}

/** What the server says of an ID: its bits, and a line for each field. */
function Card({ c }) {
  const fields = (c.groups || []).filter((g) => g.name).map((g) => ({ name: g.name, bits: g.digits.length }))
  const values = Object.fromEntries((c.groups || []).map((g) => [g.name, `0b${g.digits}`]))
  return (
    <section class="card reading">
      <div class="head">
        <h2 class="mono">{c.title}</h2>
        <Copy text={c.title} what="the ID" />
      </div>
      {c.note && <p class="muted">{c.note}</p>}
      {fields.length > 0 && <Bits fields={fields} values={values} />}
      <table class="plain">
        <caption>Fields</caption>
        <tbody>
          {(c.rows || []).map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="num">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {c.more && <p class="muted">{c.more}</p>}
    </section>
  )
}
