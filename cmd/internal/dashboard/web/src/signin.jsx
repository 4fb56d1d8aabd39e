import { useState } from 'preact/hooks'

export function SignIn({ error, enter, tried }) {
  const [text, set] = useState('')
  const denied = error?.status === 403
  return (
    <section class="card signin">
      <h1>A token, please</h1>
      <p>This server wants to know who looks. A token that may read is enough; you see the namespaces that it is for.</p>
      {tried && error && (
        <p class="banner bad" role="alert">
          {denied ? 'This token may not look at namespaces: it needs the verb “read”.' : 'The server does not know this token.'}
        </p>
      )}
      <form
        onSubmit={(e) => {
          e.preventDefault()
          if (text.trim()) enter(text.trim())
        }}
      >
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="off" spellcheck={false} autofocus value={text} onInput={(e) => set(e.currentTarget.value)} />
        <button type="submit" class="primary">
          Open the dashboard
        </button>
      </form>
      <p class="muted">It stays in this tab and is forgotten when you close it. “snowfence token new NAME” makes one.</p>
    </section>
  )
}
