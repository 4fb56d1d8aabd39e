import { Generator } from '/esm/index.js'

const counts = async () => (await fetch('/counts')).json()

/** Acquires, renews, loses its node and acquires another. */
export async function check () {
  const ids = await Generator.open(location.origin, { ttl: 3 }), seen = new Set()
  const until = async (happened) => {
    for (const began = await counts(); !happened(began, await counts()); await new Promise((resolve) => setTimeout(resolve, 20))) {
      for (const id of await ids.take(100)) seen.add(id)
      if (seen.size % 100 !== 0) throw new Error('an ID came twice')
    }
  }
  await until((began, now) => now.Renew >= began.Renew + 2)
  const { node } = ids.decode([...seen].at(-1))
  await fetch(`/v1/default/leases/${node}`, { method: 'DELETE' })
  await until((began, now) => now.Acquire > began.Acquire)
  await until((began, now) => now.Renew > began.Renew)
  await ids.close()
  // A server has no CORS: a page of another origin does not reach it.
  const other = new URL(location).searchParams.get('other')
  if (other) await Generator.open(other).then(() => { throw new Error('another origin answered') }, (e) => { if (e.code !== 'UNREACHABLE') throw e })
  return `ok, ${seen.size} IDs`
}
