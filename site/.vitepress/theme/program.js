// Loads the program of the playground when it is first asked.
import { withBase } from 'vitepress'
import { data } from './playground.data.js'

export const size = `${(data.size / 1e6).toFixed(1)} MB`

let loading

function script(src) {
  return new Promise((done, failed) => {
    const s = document.createElement('script')
    s.src = src
    s.onload = done
    s.onerror = () => failed(new Error(`${src} could not be loaded`))
    document.head.append(s)
  })
}

async function load() {
  await script(withBase(`/wasm_exec.js?${data.version}`))
  const response = await fetch(withBase(`/playground.wasm.gz?${data.version}`))
  if (!response.ok) throw new Error(`the program could not be loaded: ${response.status} ${response.statusText}`)
  let bytes = await response.arrayBuffer()
  const [a, b] = new Uint8Array(bytes, 0, 2)
  if (a === 0x1f && b === 0x8b) { // some servers unpack it by themselves
    bytes = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
  }
  const go = new Go()
  const { instance } = await WebAssembly.instantiate(bytes, go.importObject)
  go.run(instance)
}

// ask answers a question. If loading failed, the next question tries again.
export async function ask(question) {
  loading ??= load().catch((err) => {
    loading = undefined
    throw err
  })
  await loading
  return JSON.parse(globalThis.snowfence(JSON.stringify(question)))
}
