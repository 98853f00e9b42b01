import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['http', 'connections', 'fronts', 'forwarding']) t.test(`${name} runs`, (test) => smoke(test, name))
