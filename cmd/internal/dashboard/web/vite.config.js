import { defineConfig } from 'vite'

// The built files are committed and embedded in the program, so the same sources give the same bytes: no time, no path of this machine.
export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    license: { fileName: "licenses.md" },
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    emptyOutDir: true,
  },
})
