import t from 'tap'
import { EventConditions } from '../../../src/alerts/event-conditions.ts'
import type { Met } from '../../../src/alerts/met.ts'
import { alertRule } from '../../fixtures/alerts.ts'

const event = (data: object, kind: 'node' | 'realServer' = 'realServer') => ({ id: 1, at: '', kind, data })
const DOWN = { state: 'down', id: 'r1', name: 'web1', backendId: 'be', backendName: 'shop', reason: 'L4CON' }

function metOf(conditions: EventConditions): readonly Met[] {
  const met: Met[] = []
  conditions.look((one) => met.push(one))
  return met
}

t.test('events of the kinds and states that a rule wants are met once', (test) => {
  const rule = alertRule({ type: 'event', events: ['realServer'], states: ['down'] })
  const conditions = new EventConditions([rule, alertRule({ type: 'disk' })])
  conditions.take(event(DOWN))
  conditions.take(event({ ...DOWN, state: 'up' }))
  conditions.take(event({ state: 'haproxy down' }, 'node'))
  test.match(metOf(conditions), [
    {
      rule,
      key: 'realServer/be/r1/down',
      object: { id: 'be/r1', name: 'web1' },
      text: 'realServer web1 in shop: down: L4CON',
    },
  ])
  test.same(metOf(conditions), [])
  test.end()
})

t.test('more than can be told of are counted', (test) => {
  const conditions = new EventConditions([alertRule({ type: 'event', events: ['node'] })])
  for (let count = 0; count < 1_200; count++) conditions.take(event({ state: 'started' }, 'node'))
  test.equal(metOf(conditions).length, 1_000)
  test.equal(conditions.takeLeft(), 200)
  test.equal(conditions.takeLeft(), 0)
  test.end()
})
