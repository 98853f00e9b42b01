import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

t.test('cluster runs', (test) => smoke(test, 'cluster'))
