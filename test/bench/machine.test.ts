import t from 'tap'
import { smoke } from '../fixtures/bench.ts'

for (const name of ['start', 'node', 'snmp', 'real-haproxy', 'logs', 'rules'])
  t.test(`${name} runs`, (test) => smoke(test, name))
