// Layout specs, as far as a page has to read them: the server is who knows.

export function parseSpec(spec) {
  const l = { fields: [], epoch: '', tick: '1ms', rest: [] }
  for (const pair of spec.split(',')) {
    const [key, value = ''] = pair.split('=')
    if (key === 'epoch') l.epoch = value
    else if (key === 'tick') l.tick = value
    else if (['first', 'last', 'cipher'].includes(key)) l.rest.push([key, value])
    else l.fields.push({ name: key === 'seq' ? 'sequence' : key, bits: Number(value) })
  }
  return l
}

export function writeSpec(l) {
  const fields = l.fields.filter((f) => f.bits > 0).map((f) => `${f.name === 'sequence' ? 'seq' : f.name}=${f.bits}`)
  return [...fields, `epoch=${l.epoch}`, `tick=${l.tick}`, ...l.rest.map(([k, v]) => `${k}=${v}`)].join(',')
}

/** The role of a field, for its colour: parts of the node share one. */
export function role(name) {
  return ['time', 'sequence', 'rollback', 'key', 'unused'].includes(name) ? name : 'node'
}

/** The fields with the bits that no field has in front, up to 64. */
export function padded(fields) {
  const width = fields.reduce((n, f) => n + f.bits, 0)
  return width < 64 ? [{ name: 'unused', bits: 64 - width }, ...fields] : fields
}
