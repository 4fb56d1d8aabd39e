import { padded, role } from './layout.js'

/** An ID's 64 bits, drawn to scale, with a list of what they are below. With values it shows the bits themselves. */
export function Bits({ fields, values, small }) {
  const all = padded(fields)
  let seen = 0
  const parts = all.map((f) => {
    const r = role(f.name)
    return { ...f, role: r, shade: r === 'node' ? seen++ % 2 : 0 }
  })
  const label = all.map((f) => `${f.name} ${f.bits}`).join(', ')
  return (
    <figure class={`bits ${small ? 'small' : ''}`}>
      <div class="bar" role="img" aria-label={`64 bits from the highest down: ${label}`}>
        {parts.map((f) => (
          <span key={f.name} class={`part ${f.role} shade${f.shade}`} style={{ flexGrow: f.bits, flexBasis: 0 }}>
            {Array.from({ length: f.bits }, (_, i) => (
              <i key={i} />
            ))}
            <b>{f.bits > 6 && f.name !== 'unused' && <span>{f.bits}</span>}</b>
          </span>
        ))}
      </div>
      {!small && (
        <div class="scale" aria-hidden="true">
          <span>63</span>
          <span>0</span>
        </div>
      )}
      {!small && (
        <figcaption>
          {parts.map((f) => (
            <span key={f.name} class="field">
              <span class={`swatch ${f.role} shade${f.shade}`} />
              <span>
                {f.name} <span class="muted">{f.bits} {f.bits === 1 ? 'bit' : 'bits'}</span>
                {values && values[f.name] !== undefined && <code class="binary">{BigInt(values[f.name]).toString(2).padStart(f.bits, '0').slice(-f.bits)}</code>}
              </span>
            </span>
          ))}
        </figcaption>
      )}
    </figure>
  )
}
