import t from 'tap'
import { healthOf } from '../../../src/stats/health.ts'

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
