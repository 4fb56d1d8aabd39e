import { gzipSync } from 'node:zlib'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { defineConfig } from 'vite'

/** Compresses the built files that are larger than a packet. The program unpacks them for browsers that want them plain. */
function compressed() {
  let dir
  return {
    name: 'compressed',
    apply: 'build',
    configResolved: (config) => (dir = resolve(config.root, config.build.outDir)),
    closeBundle() {
      for (const name of readdirSync(dir, { recursive: true })) {
        if (!/\.(html|js|css|svg)$/.test(name)) continue
        const body = readFileSync(join(dir, name))
        if (body.length <= 1400) continue
        writeFileSync(join(dir, `${name}.gz`), gzipSync(body, { level: 9 }))
        rmSync(join(dir, name))
      }
    },
  }
}

// The built files are committed and embedded in the program, so the same sources give the same bytes: no time, no path of this machine.
export default defineConfig({
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [compressed()],
  build: {
    license: { fileName: "licenses.md" },
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    emptyOutDir: true,
  },
})
