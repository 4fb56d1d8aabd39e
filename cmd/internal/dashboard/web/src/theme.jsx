import { useEffect, useState } from 'preact/hooks'

const key = 'snowfence-theme'

function chosen() {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** The theme in use, 'light' or 'dark', and how to change it: the system's, until a person has chosen. public/theme.js sets the first one. */
export function useTheme() {
  const [theme, show] = useState(document.documentElement.dataset.theme)
  const use = (t) => {
    document.documentElement.dataset.theme = t
    show(t)
  }
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)')
    const on = () => chosen() || use(system.matches ? 'dark' : 'light')
    system.addEventListener('change', on)
    return () => system.removeEventListener('change', on)
  }, [])
  const choose = (t) => {
    try {
      localStorage.setItem(key, t)
    } catch {
      // storage is switched off: it lasts as long as the page
    }
    use(t)
  }
  return [theme, choose]
}

export function ThemeSwitch({ theme, set }) {
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <button type="button" class="quiet icon" aria-label={`Use the ${other} theme`} title={`Use the ${other} theme`} onClick={() => set(other)}>
      <svg viewBox="0 0 24 24" aria-hidden="true">
        {theme === 'dark' ? (
          <path d="M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10ZM12 1v3M12 20v3M1 12h3M20 12h3M4.2 4.2l2.1 2.1M17.7 17.7l2.1 2.1M4.2 19.8l2.1-2.1M17.7 6.3l2.1-2.1" />
        ) : (
          <path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z" />
        )}
      </svg>
    </button>
  )
}
