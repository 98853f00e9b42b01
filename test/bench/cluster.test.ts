import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['cluster', 'takeover', 'witness']) t.test(`${name} runs`, (test) => smoke(test, name))
