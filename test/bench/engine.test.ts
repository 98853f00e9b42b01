import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['archive', 'alerts', 'l4-apply', 'l4-stats', 'documents'])
  t.test(`${name} runs`, (test) => smoke(test, name))
