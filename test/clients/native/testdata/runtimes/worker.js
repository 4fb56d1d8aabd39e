// SERVER is a variable of the worker, IDS the binding of its class.
import { Generator } from 'snowfence'

// One object makes the IDs of all requests, because nothing else lives on between them.
export class Ids {
  constructor (state, env) {
    this.ids = Generator.open(env.SERVER)
  }

  async fetch () {
    const ids = await this.ids
    const more = await ids.take(3)
    return new Response([...more, ids.next()].join(' '))
  }
}

export default {
  fetch: (request, env) => env.IDS.get(env.IDS.idFromName('ids')).fetch(request)
}
