// What a square of the map is, in the order of the server's numbers.

export const kinds = [
  { name: 'never', text: 'never leased' },
  { name: 'free', text: 'free' },
  { name: 'held', text: 'held', notable: true },
  { name: 'late', text: 'held, renewal overdue', notable: true, mark: 'stroke' },
  { name: 'own', text: 'held by this server', notable: true, mark: 'dot' },
  { name: 'vetoed', text: 'vetoed', notable: true, mark: 'cross' },
  { name: 'ahead', text: 'free later' },
  { name: 'reserved', text: 'reserved' },
]

/** Writes runs (skip, length × 8 + kind, as varints in base64) into cells. */
export function applyRuns(cells, base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
  let at = 0
  let i = 0
  const varint = () => {
    let v = 0
    for (let scale = 1; ; scale *= 128) {
      const b = bytes[i++]
      v += (b & 127) * scale
      if (b < 128) return v
    }
  }
  while (i < bytes.length) {
    at += varint()
    const v = varint()
    const length = Math.floor(v / 8)
    cells.fill(v & 7, at, at + length)
    at += length
  }
}
