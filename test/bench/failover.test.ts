import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['failover', 'busy']) t.test(`${name} runs`, (test) => smoke(test, name))
