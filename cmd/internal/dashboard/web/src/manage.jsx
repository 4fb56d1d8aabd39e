import { useEffect, useState } from 'preact/hooks'
import { change } from './api.js'
import { role } from './layout.js'
import { count } from './format.js'

/** Carries out actions, and keeps what to say of the last one. */
function useActions(key) {
  const [open, show] = useState('') // the action that is asked about
  const [said, say] = useState(null)
  useEffect(() => {
    show('')
    say(null)
  }, [key])
  const act = async (method, path, body, text) => {
    say(null)
    try {
      await change(method, path, body)
      show('')
      say({ text })
    } catch (err) {
      say({ bad: true, text: err.message })
    }
  }
  return { open, show: (name) => (say(null), show(name)), said, act }
}

/** A question before an action, with what it does. */
function Ask({ text, yes, cancel, children }) {
  return (
    <form
      class="ask"
      onSubmit={(e) => {
        e.preventDefault()
        yes.act()
      }}
    >
      <p>{text}</p>
      {children}
      <div class="actions">
        <button type="submit" class="primary">
          {yes.name}
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}

const Said = ({ said }) => (
  <p role="status" class={said?.bad ? 'trouble' : 'muted'}>
    {said?.text}
  </p>
)

/** What those who may manage can do with a node, or with the unit that it is in. */
export function NodeActions({ name, node, unit, held, veto, label }) {
  const { open, show, said, act } = useActions(`${name} ${node}`)
  const [reason, setReason] = useState('')
  const path = `${encodeURIComponent(name)}/leases/${node}`
  const first = Math.floor(node / unit) * unit
  const lower = unit > 1 ? `unit ${count(first)} to ${count(first + unit - 1)}` : `node ${count(node)}`
  const upper = lower[0].toUpperCase() + lower.slice(1)
  return (
    <div class="manage">
      {open === '' && (
        <div class="actions">
          {held && (
            <button type="button" onClick={() => show('release')}>
              Release …
            </button>
          )}
          <button type="button" onClick={() => (setReason(''), show(veto ? 'lift' : 'veto'))}>
            {veto ? 'End the veto …' : 'Veto …'}
          </button>
        </div>
      )}
      {open === 'release' && (
        <Ask
          text={`${upper} becomes free. ${label || 'Its holder'}, if it still runs, notices at its next renewal and takes another node. IDs stay unique.`}
          yes={{ name: `Release ${lower}`, act: () => act('DELETE', path, null, `${upper} was released.`) }} cancel={() => show('')}
        />
      )}
      {open === 'veto' && (
        <Ask
          text={`${upper} cannot be leased until the veto ends. A holder loses it at its next renewal and takes another node.`}
          yes={{ name: `Veto ${lower}`, act: () => act('PUT', `${path}/veto`, { reason }, `${upper} is vetoed.`) }} cancel={() => show('')}
        >
          <label for="reason">Reason, for the people who see the veto</label>
          <input id="reason" required maxLength={300} autocomplete="off" value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
        </Ask>
      )}
      {open === 'lift' && (
        <Ask
          text={`${upper} can be leased again.`} yes={{ name: 'End the veto', act: () => act('DELETE', `${path}/veto`, null, `${upper} can be leased again.`) }}
          cancel={() => show('')}
        />
      )}
      <Said said={said} />
    </div>
  )
}

/** How those who may manage let more nodes of a namespace be leased. */
export function Widen({ ns, fields }) {
  const { open, show, said, act } = useActions(ns.name)
  const last = 2 ** fields.filter((f) => role(f.name) === 'node').reduce((n, f) => n + f.bits, 0) - 1
  const [from, setFrom] = useState(0)
  const [to, setTo] = useState(last)
  if (ns.first_node === 0 && ns.last_node === last && !said) return null
  return (
    <div class="manage">
      {open === '' && ns.last_node - ns.first_node < last && (
        <div class="actions">
          <button type="button" onClick={() => show('widen')}>
            Widen …
          </button>
        </div>
      )}
      {open === 'widen' && (
        <Ask
          text="Programs may use nodes outside this range without a lease. Widen the range only when no program uses the added nodes any more."
          yes={{ name: 'Widen', act: () => act('PATCH', encodeURIComponent(ns.name), { first_node: from, last_node: to, widen: true }, `Nodes ${count(from)} to ${count(to)} can be leased now.`) }}
          cancel={() => show('')}
        >
          <div class="actions">
            <label class="inline">
              First <input type="number" min={0} max={ns.first_node} value={from} onInput={(e) => setFrom(e.currentTarget.valueAsNumber)} />
            </label>
            <label class="inline">
              Last <input type="number" min={ns.last_node} max={last} value={to} onInput={(e) => setTo(e.currentTarget.valueAsNumber)} />
            </label>
          </div>
        </Ask>
      )}
      <Said said={said} />
    </div>
  )
}
