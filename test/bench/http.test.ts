import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['http', 'connections', 'forwarding']) t.test(`${name} runs`, (test) => smoke(test, name))
