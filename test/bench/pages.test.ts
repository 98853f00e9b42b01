import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['page', 'page-open']) t.test(`${name} runs`, (test) => smoke(test, name))
