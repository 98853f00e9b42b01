import t from 'tap'
import type { Health } from '../../../src/model/real-server.ts'
import { healthOf, healthOver } from '../../../src/stats/health.ts'

t.test('the worst known status decides', async (test) => {
  const table: [readonly string[], string][] = [
    [[], 'unknown'],
    [['no check'], 'unknown'],
    [['MAINT'], 'unknown'],
    [['UP'], 'up'],
    [['UP 2/3'], 'up'],
    [['DRAIN'], 'up'],
    [['DOWN'], 'down'],
    [['DOWN 1/2'], 'checking'],
    [['DOWN (agent)'], 'down'],
    [['DRAIN (agent)'], 'up'],
    [['UP', 'DOWN'], 'down'],
    [['UP', 'DOWN 1/2'], 'checking'],
    [['no check', 'UP'], 'up'],
  ]
  for (const [statuses, health] of table) test.equal(healthOf(statuses), health, statuses.join(', '))
})

t.test('of both layers the worse status counts, and a known one before an unknown one', async (t) => {
  const told = (...each: readonly Health[]) => healthOver(each.map((health) => ({ health: () => health }))).ofReal('r')
  t.equal(told('up', 'down'), 'down')
  t.equal(told('checking', 'up'), 'checking')
  t.equal(told('unknown', 'up'), 'up')
  t.equal(told('unknown', 'unknown'), 'unknown')
})
