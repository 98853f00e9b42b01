import t from 'tap'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { newProcess, restoredProcess } from '../../../workers/archive/known-process.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const S = 1_700_000_000

t.test('a restored process knows every living object; one without stored counters is unknown, not new', async (t) => {
  const writer = new ArchiveWriter(temporaryFolder(t), S)
  t.equal(restoredProcess(writer), undefined, 'nothing was followed yet')
  const counted = writer.ensure('server', 'counted', 'b')
  const baseline = { pid: 7, counters: { valueNow: () => 40 }, changed: { has: () => true } }
  writer.ring.beginSecond(S)
  writer.ring.set(counted?.slot ?? -1, S, 0, 1)
  writer.commit(S + 1, true, baseline)
  const other = writer.ensure('server', 'without', 'c')
  const process = restoredProcess(writer)
  t.equal(process?.counters.pid, 7)
  process?.counters.beginPoll(2)
  t.strictSame(
    [counted, other].map((object) => process?.counters.increment(object?.slot ?? -1, 0, 50)),
    [10, Number.NaN],
  )
  await writer.close()
})

t.test('a new process is fresh or a baseline', async (t) => {
  const increments = [true, false].map((fresh) => {
    const { counters } = newProcess(1, fresh)
    counters.beginPoll(1)
    return counters.increment(0, 0, 9)
  })
  t.strictSame(increments, [9, Number.NaN])
})
