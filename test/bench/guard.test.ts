import t from 'tap'
import { isWorse } from '../../bench/guard.ts'
import { smoke } from '../fixtures/bench.ts'

t.test('guard runs', (test) => smoke(test, 'guard'))

t.test('a figure is worse when its better rounds cost more than the worse recorded ones', async (test) => {
  test.ok(isWorse([3.1, 3.5, 4], [2, 2.5, 3]))
  test.notOk(isWorse([2.9, 3.5, 4], [2, 2.5, 3]), 'the ranges touch')
  test.notOk(isWorse([1, 1.1], [2, 2.5, 3]), 'better')
  test.ok(isWorse([1, 3.1, 3.1, 3.2, 9], [2, 2.5, 2.6, 3, 9]), 'of five rounds the best and the worst do not count')
  test.notOk(isWorse([9], undefined), 'not recorded')
  test.notOk(isWorse([10.4], [10]), 'one figure counts as a range of a tenth')
  test.ok(isWorse([11.2], [10]))
})
