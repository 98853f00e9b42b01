import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['real-haproxy', 'logs', 'rules']) t.test(`${name} runs`, (test) => smoke(test, name))
