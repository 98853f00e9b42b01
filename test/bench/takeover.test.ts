import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

t.test('takeover runs', (test) => smoke(test, 'takeover'))
