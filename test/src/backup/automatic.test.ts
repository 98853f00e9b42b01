import { replacements } from '../../../src/config/whole.ts'
import t, { type Test } from 'tap'
import { AutomaticBackups } from '../../../src/backup/automatic.ts'
import { configView } from '../../../src/config/views.ts'
import { silentLog } from '../../../src/base/log.ts'
import { sourceOf } from '../../fixtures/backup.ts'
import { configFixture, realServer } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { stageIn } from '../../fixtures/entries.ts'

const DAY_MS = 86_400_000

function fixture(test: Test, fails = false) {
  const { store, edit, promote } = configFixture(test)
  const clock = manualClock()
  const kept: string[] = []
  const backups = {
    source: () => sourceOf({}),
    async keep(_: unknown, kind: string) {
      if (fails) throw new Error('ENOSPC: no space left on device')
      const stamp = new Date(clock.now_ms()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
      kept.push(`lb-${stamp}-${kind}.json`)
      return ''
    },
    automatic: async (kind: string) => kept.filter((name) => name.includes(kind)),
  }
  const automatic = new AutomaticBackups({ backups, running: configView(store.running), clock, log: silentLog })
  const stage = (count: number, from = 0) =>
    edit((draft) => {
      for (let n = from; n < from + count; n += 1) draft.section('realServers').put(realServer(`r${n}`))
    })
  return { store, automatic, kept, clock, edit, promote, stage }
}

t.test('an apply with many changes is preceded by a backup, a smaller one is not', async (test) => {
  const { store, automatic, kept, edit, promote, stage } = fixture(test)
  const asked = async () => {
    const before = kept.length
    test.equal(await automatic.beforeApply(store.changes()), undefined)
    return kept.length > before
  }
  test.equal(await asked(), false, 'nothing changes')
  await stage(2)
  test.equal(await asked(), false, 'two are never many')
  await stage(3)
  test.equal(await asked(), true, 'three of none')
  await stage(100)
  await promote()
  await stage(9, 200)
  test.equal(await asked(), false, 'nine of a hundred')
  await stage(10, 200)
  test.equal(await asked(), true, 'ten')
  await promote()
  await edit((draft) => draft.rewrite(replacements(draft.view, { realServers: [realServer('r0')] })))
  test.equal(await asked(), true)
})

t.test('any restore counts as many', async (test) => {
  const { store, automatic, kept } = fixture(test)
  const origin = { actor: 'a@b', endpoint: 'backups.restore', at: '' }
  await stageIn(store, [{ section: 'realServers', scope: '', key: 'x', value: realServer('x') }], origin)
  await automatic.beforeApply(store.changes())
  test.equal(kept.length, 1)
})

t.test('a full disk is reported and stops nothing', async (test) => {
  const { store, automatic, stage } = fixture(test, true)
  await stage(20)
  test.match(await automatic.beforeApply(store.changes()), /could not be written: ENOSPC/)
  await automatic.daily()
  await automatic.close()
})

t.test('there is one per day', async (test) => {
  const { automatic, kept, clock } = fixture(test)
  await automatic.daily()
  await automatic.daily()
  test.equal(kept.length, 1)
  clock.advance(DAY_MS - 5000)
  await automatic.daily()
  test.equal(kept.length, 1)
  clock.advance(10_000)
  await automatic.daily()
  test.equal(kept.length, 2)

  test.comment('also after the clock was ahead')
  clock.advance(-30 * DAY_MS)
  await automatic.daily()
  clock.advance(3_600_000)
  await automatic.daily()
  test.equal(kept.length, 3)
})
