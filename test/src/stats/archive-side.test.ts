import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { TIERS } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { CORE_METRICS } from '../../../src/model/metrics.ts'
import { ArchiveSide } from '../../../src/stats/archive-side.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { writeSeconds } from '../../storage/temporary-archive.ts'
import { namesOf } from './names-fixture.ts'

const START_S = 1_790_000_000

class SomeSide extends ArchiveSide<undefined, object> {
  taken = 0
  protected override take(): void {
    this.taken++
  }
  override interrupt(): void {}
}

t.test('nothing before the archive is open; then its content, up to the last tick', async (t) => {
  const directory = temporaryFolder(t)
  const names = namesOf([{ id: 'f', name: 'f' }], [])
  const known: string[] = []
  const observer = {
    know: (objects: Iterable<{ readonly name: string }>) => void known.push(...[...objects].map(({ name }) => name)),
    forget: () => undefined,
    list: () => undefined,
  }
  const side = new SomeSide({
    archive: { directory, source: undefined },
    names,
    applianceId: 'n',
    message: 'Some history',
    step_s: 1,
    tiers: TIERS,
    observer,
    log: silentLog,
  })
  const query = {
    start: START_S,
    end: START_S + 5,
    resolution: 1,
    consolidation: 'average',
    metrics: CORE_METRICS,
  } as const
  const points = () => {
    const answer = side.history.frontend('f', { ...query, format: 'json' })
    return JSON.parse(Buffer.from(answer?.body ?? '').toString()).data.series.sessionRate
  }
  t.strictSame(points(), [null], 'the second of the window is not known yet')
  const writer = new ArchiveWriter(directory, START_S)
  writeSeconds(writer, 'f', 10, () => 4)
  const [object] = writer.objects()
  const { header, slabs } = writer.ring
  const place = {
    objectId: object?.id ?? 0,
    kind: 'frontend' as const,
    name: 'f',
    backend: '',
    slot: object?.slot ?? 0,
  }
  t.notOk(side.isOpen)
  side.receive({ type: 'ready', header, slabs, objects: [place] })
  t.ok(side.isOpen)
  t.ok(known.includes('f'))
  t.strictSame(points(), [4, 4, 4, 4, 4])
  const state = { up: true, since_ms: 0, reason: undefined, storage: undefined }
  side.receive({ type: 'tick', ...state, hwm_s: START_S + 2, stored_s: START_S + 1, losses: 1 })
  t.match(side.kept, { stored_s: START_S + 1, losses: 1 })
  t.equal(side.taken, 1)
  t.strictSame(points(), [4, 4], 'never ahead of the last message')
  await side.close()
  await writer.close()
})
