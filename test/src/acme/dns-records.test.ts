import t from 'tap'
import { DnsRecords } from '../../../src/acme/dns-records.ts'
import type { ScriptRan, ScriptRun } from '../../../src/model/machine-facts.ts'
import { acmeOrder } from '../../fixtures/acme.ts'
import { ownCheck } from '../../fixtures/health-check.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'

const script = ownCheck('s', {
  services: ['dns-01'],
  parameters: [
    { name: 'zone', type: 'string' },
    { name: 'token', type: 'secret' },
  ],
})
const order = acmeOrder('o', 'a', {
  challenge: 'dns-01',
  dns: { scriptId: 's', parameters: { zone: 'a.test' }, timeout: 7 },
  secrets: { token: 'geheim', tokens: 'geheim2' },
})
const ANSWERS = [
  { name: '_acme-challenge.a.test', value: 'one' },
  { name: '_acme-challenge.a.test', value: 'two' },
]

function fixture(...says: Partial<ScriptRan>[]) {
  const runs: ScriptRun[] = []
  const clock = manualClock(0)
  const records = new DnsRecords({
    agreed: viewOf({ healthChecks: [script] }),
    clock,
    async run(called) {
      runs.push(called)
      clock.advance(90_000)
      return { exitCode: 0, durationMs: 1, output: '', ...says.shift() }
    },
  })
  return { records, runs }
}

t.test('a script is called for each record, with its secrets hidden', async (test) => {
  const { records, runs } = fixture()
  test.equal(await records.present(order, ANSWERS), undefined)
  test.same(
    runs.map(({ words }) => words),
    ANSWERS.map(({ name, value }) => ['present', name, value, '--zone=a.test']),
  )
  test.match(runs[0], { input: 'token=geheim\ntokens=geheim2\n', seconds: 7, script: script.script })
})

t.test("the first failure ends it, and the script's output is reported without secrets", async (test) => {
  const { records, runs } = fixture({ exitCode: 2, output: `${'x'.repeat(500)} geheim2 and geheim` })
  const why = await records.present(order, ANSWERS)
  test.match(why, /^The script \S+ ended with 2 at present _acme-challenge\.a\.test: x+ \*\* and \*\*$/)
  test.equal(runs.length, 1)
  test.match(await fixture({ exitCode: 137 }).records.present(order, ANSWERS), /was killed, perhaps after 7 s/)
  test.match(await fixture({ exitCode: 125 }).records.present(order, ANSWERS), /was not started/)
})

t.test('a record that cannot be removed is reported, and the others are removed', async (test) => {
  const { records, runs } = fixture({ exitCode: 1 })
  test.match(await records.remove(order, ANSWERS), { left: [ANSWERS[0]], why: /ended with 1 at cleanup/ })
  test.equal(runs.length, 2)
  test.same(await fixture().records.remove(order, ANSWERS), { left: [], why: undefined })
})

t.test('without a script there is nothing to call', async (test) => {
  const records = new DnsRecords({
    agreed: viewOf({}),
    clock: manualClock(0),
    run: () => Promise.reject(new Error('called')),
  })
  test.match(await records.present(order, ANSWERS), /the script no longer exists/)
})

t.test('a script that finds no free worker is a reason like any other', async (test) => {
  const records = new DnsRecords({
    agreed: viewOf({ healthChecks: [script] }),
    clock: manualClock(0),
    run: () => Promise.reject(new Error('too many wait')),
  })
  const why = /^The script \S+ was not started at (?:present|cleanup) _acme-challenge\.a\.test: .*too many wait/
  test.match(await records.present(order, ANSWERS), why)
  test.match(await records.remove(order, ANSWERS), { left: ANSWERS, why })
})

t.test('a slow script, or a provider that is down, delays no turn', async (test) => {
  const many = Array.from({ length: 9 }, (_, at) => ({ name: `_acme-challenge.a.test`, value: `value ${at}` }))
  const slow = fixture()
  test.match(await slow.records.present(order, many), /takes too long for 9 records/)
  test.equal(slow.runs.length, 3)
  const down = fixture(...many.map(() => ({ exitCode: 137 })))
  test.match(await down.records.remove(order, many), { left: many, why: /was killed/ })
  test.equal(down.runs.length, 3)
})
