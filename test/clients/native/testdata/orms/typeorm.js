import { ids } from './ids.js'
import { EntitySchema, EventSubscriber } from 'typeorm'

export const Order = new EntitySchema({
  name: 'orders',
  columns: { id: { type: 'bigint', primary: true }, name: { type: 'text' } },
})

export class FillKeys {
  beforeInsert ({ entity, metadata }) {
    for (const key of metadata.primaryColumns) {
      if (key.type === 'bigint' && !key.relationMetadata) entity[key.propertyName] ??= String(ids.next())
    }
  }
}
EventSubscriber()(FillKeys) // or as a decorator, @EventSubscriber()
