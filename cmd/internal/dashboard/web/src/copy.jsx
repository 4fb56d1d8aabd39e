import { useState } from 'preact/hooks'

/** A button that copies a text. Where pages have no clipboard (plain http from another machine) it selects the text instead. */
export function Copy({ text, what, select }) {
  const [said, say] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      say('Copied')
    } catch {
      select?.()
      say('Selected')
    }
    setTimeout(() => say(''), 1500)
  }
  return (
    <button type="button" class="quiet copy" onClick={copy} aria-label={`Copy ${what}`}>
      <span role="status">{said || 'Copy'}</span>
    </button>
  )
}
