/** Time from the command to the first answer, and the memory of an idle daemon. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Daemon } from '../test/fixtures/daemon.ts'
import { memoryOf } from './daemon.ts'
import { spread, table } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(7, 1)
const IDLE_ROUNDS = 2
/** Time after which threads that nothing needs have ended. */
const IDLE_MS = scaled(75_000, 100)

export async function run(): Promise<void> {
  const first_ms: number[] = []
  const again_ms: number[] = []
  const rss: number[] = []
  const anonymous: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const state = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
    const daemon = new Daemon(state, ['--no-demo'], [], { isMeasured: true })
    for (const times of [first_ms, again_ms]) {
      const began_ms = performance.now()
      await daemon.start()
      await daemon.call('GET', '/ping')
      times.push(performance.now() - began_ms)
      if (times === again_ms && round < IDLE_ROUNDS) {
        await wait(IDLE_MS)
        const memory = memoryOf(daemon.pid)
        rss.push(memory.rss_mb)
        anonymous.push(memory.anonymous_mb)
      }
      await daemon.kill('SIGTERM')
    }
    await daemon.end()
    rmSync(state, { recursive: true, force: true })
  }
  table(
    'Start and idle',
    ['what', 'median (range)'],
    [
      ['first start (keys, certificate, administrator) to first answer, ms', spread(first_ms, 0)],
      ['later start to first answer, ms', spread(again_ms, 0)],
      ['idle resident memory, MiB', spread(rss, 0)],
      ['of which private (not the program’s own file pages), MiB', spread(anonymous, 0)],
    ],
  )
}

if (import.meta.main) await run()
