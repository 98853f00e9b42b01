import t from 'tap'
import { systemClock } from '../../../src/clock.ts'
import { createLog } from '../../../src/log.ts'
import { ArchiveThreadKeeper } from '../../../src/stats/archive-thread.ts'
import type { LayerMessage } from '../../../workers/archive/messages.ts'
import { temporaryFolder } from '../../storage/temporary-archive.ts'

t.test('a thread that ends is started again, and the log says so', async (t) => {
  const lines: string[] = []
  const lost: string[] = []
  let ready = 0
  let wake: () => void = () => undefined
  const events = {
    message: ({ message: { type } }: LayerMessage) => {
      if (type === 'ready') ready++
      wake()
    },
    lost: (reason: string) => lost.push(reason),
  }
  const layer7 = { directory: temporaryFolder(t), source: { kind: 'stats-socket' as const, path: '/nonexistent' } }
  const keeper = new ArchiveThreadKeeper(
    { layer7 },
    events,
    createLog((line) => lines.push(line)),
    systemClock,
  )
  const untilReady = async (times: number): Promise<void> => {
    for (;;) {
      if (ready >= times) return
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  await untilReady(1)
  t.ok(keeper.post({ type: 'clockStepped' }))
  await keeper.crash()
  t.notOk(keeper.post({ type: 'clockStepped' }), 'nobody is there to answer')
  await untilReady(2)
  t.strictSame([lost.length, lines.length], [1, 1])
  t.match(lines[0], /starting it again/)
  await keeper.stop()
  t.equal(lost.length, 1, 'a stop is no loss')
})
