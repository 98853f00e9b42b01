import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['metrics', 'streams', 'fleet', 'page']) t.test(`${name} runs`, (test) => smoke(test, name))
