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

/** The role of a field, for its colour: parts of the node share one. */
export function role(name) {
  return ['time', 'sequence', 'rollback', 'key', 'unused'].includes(name) ? name : 'node'
}

/** The fields with the bits that no field has in front, up to 64. */
export function padded(fields) {
  const width = fields.reduce((n, f) => n + f.bits, 0)
  return width < 64 ? [{ name: 'unused', bits: 64 - width }, ...fields] : fields
}
