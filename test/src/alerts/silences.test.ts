import t from 'tap'
import { Silences } from '../../../src/alerts/silences.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const asked = (more: object = {}) => ({
  ruleId: null,
  objectId: null,
  objectName: null,
  reason: 'works',
  by: 'ann@corp.test',
  endsAt: '2026-01-02T04:00:00.000Z',
  ...more,
})
const alert = (id: string, name = id, ruleId = 'rule-1') => ({ ruleId, object: { type: 'server', id, name } })

t.test('a silence covers a rule, an object or both, until it ends', async (test) => {
  const clock = manualClock()
  const { silences: table } = openStore(test)
  const silences = new Silences(table, clock)
  const id = await silences.begin(asked({ ruleId: 'rule-1', objectName: 'web*' }))
  test.match(silences.of(alert('a', 'web1')), { id, reason: 'works' })
  test.equal(silences.of(alert('a', 'db1')), undefined)
  test.equal(silences.of(alert('a', 'web1', 'rule-2')), undefined)
  await silences.begin(asked({ objectId: 'be/r1' }))
  test.ok(silences.of(alert('be/r1')))
  test.equal(new Silences(table, clock).all.length, 2, 'on the disk')
  clock.advance(3_600_000)
  test.same([silences.all, silences.of(alert('be/r1'))], [[], undefined])
  await silences.begin(asked({ endsAt: '2026-01-03T04:00:00.000Z' }))
  test.equal(table.entries().length, 1, 'ended ones are deleted')
})

t.test('names are matched regardless of case, and a clock that is set back counts', async (test) => {
  const clock = manualClock()
  const silences = new Silences(openStore(test).silences, clock)
  await silences.begin(asked({ objectName: 'Web*' }))
  await silences.begin(asked({ objectName: 'shop/db', endsAt: '2026-01-02T03:30:00.000Z' }))
  const quiet = () => ['WEB1', 'Shop/DB', 'shop/db2'].map((name) => silences.of(alert('x', name)) !== undefined)
  test.same(quiet(), [true, true, false])
  clock.advance(1_800_000)
  test.same(quiet(), [true, false, false])
  clock.advance(-1_800_000)
  test.same(quiet(), [true, true, false])
})

t.test('ending one takes effect at once; an unknown one is not found', async (test) => {
  const silences = new Silences(openStore(test).silences, manualClock())
  const id = await silences.begin(asked())
  await silences.end(id)
  test.same(silences.all, [])
  await test.rejects(silences.end(id), { code: 'NOT_FOUND' })
})

t.test('their number is limited', async (test) => {
  const { silences: table } = openStore(test)
  const clock = manualClock()
  const rows = Array.from({ length: 500 }, (_, at) => ({
    key: `s${at}`,
    value: { ...asked(), id: `s${at}`, startedAt: '' },
  }))
  await table.write(rows, [])
  await test.rejects(new Silences(table, clock).begin(asked()), { code: 'LIMIT_REACHED' })
})
