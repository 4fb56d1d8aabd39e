// Runs before the first paint, so that no other theme flashes: the one a person chose, or the system's.
{
  let theme = null
  try {
    theme = localStorage.getItem('snowfence-theme')
  } catch {
    // storage is switched off: the system's theme it is
  }
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  document.documentElement.dataset.theme = theme === 'light' || theme === 'dark' ? theme : system
}
