import t from 'tap'
import type { Health } from '../../../src/model/real-server.ts'
import { healthOf, withHealthOf } from '../../../src/stats/health.ts'

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
    [['UP', 'DOWN'], 'down'],
    [['UP', 'DOWN 1/2'], 'checking'],
    [['no check', 'UP'], 'up'],
  ]
  for (const [statuses, health] of table) test.equal(healthOf(statuses), health, statuses.join(', '))
})

t.test('of both layers the worse is told, and what is known before what is not', async (t) => {
  const says = (health: Health) => ({ render: () => undefined, health: () => health })
  t.equal(withHealthOf(says('up'), says('down')).health('r'), 'down')
  t.equal(withHealthOf(says('checking'), says('up')).health('r'), 'checking')
  t.equal(withHealthOf(says('unknown'), says('up')).health('r'), 'up')
  t.equal(withHealthOf(says('unknown'), says('unknown')).health('r'), 'unknown')
})
