import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['start', 'node', 'snmp']) t.test(`${name} runs`, (test) => smoke(test, name))
