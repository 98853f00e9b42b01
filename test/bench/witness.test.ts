import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

t.test('witness runs', (test) => smoke(test, 'witness'))
