import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['metrics', 'streams', 'fleet']) t.test(`${name} runs`, (test) => smoke(test, name))
