import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { checkArchive } from '../../../storage/archive/check.ts'
import { Points } from '../../../storage/archive/consolidate.ts'
import { floorTo } from '../../../storage/archive/layout.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { METRIC_COUNT, tierAt } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { KILL_START_S, killValue } from './kill-values.ts'
import { seededRandom } from './reference-model.ts'

const ROUNDS = Number(process.env['FULCRUM_TEST_KILLS'] ?? 6)

/**
 * Runs a writer until it has committed `seconds` more, kills it without warning, returns the last second it reported.
 */
async function writeAndKill(directory: string, seconds: number): Promise<number> {
  const script = new URL('kill-child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '' },
  })
  const exited = once(child, 'exit')
  let reported = 0
  let left = seconds
  for await (const line of createInterface({ input: child.stdout })) {
    reported = Number(line)
    if (--left === 0) child.kill('SIGKILL')
  }
  await exited
  return reported
}

t.test('kill -9 at any moment: nothing reported is lost, nothing is torn', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'archive-kill-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const random = seededRandom(11)
  let first = 0
  for (let round = 0; round < ROUNDS; round++) {
    const reported = await writeAndKill(directory, 1 + Math.floor(random() * 200))
    const writer = new ArchiveWriter(directory, KILL_START_S)
    first = first === 0 ? writer.hwm_s : first
    t.ok(writer.hwm_s >= reported, `round ${round}: up to ${reported} reported, up to ${writer.hwm_s} found`)
    t.strictSame(checkArchive(writer.databases), [])
    const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
    const from = writer.hwm_s - 500
    const n = writer.hwm_s - from
    const values = new Float64Array(n * METRIC_COUNT)
    const points = new Points()
    let wrong = 0
    for (const object of writer.objects()) {
      const number = Number(object.name.slice('server-'.length))
      const expected = (metric: number, second: number): number =>
        second < KILL_START_S - 5 ? Number.NaN : killValue(number, metric, second)
      reader.readBase(object, from, writer.hwm_s, values)
      for (let i = 0; i < n * METRIC_COUNT; i++) {
        if (!Object.is(values[i], expected(Math.floor(i / n), from + (i % n)))) wrong++
      }
      const end = floorTo(writer.hwm_s, tierAt(1).step_s)
      reader.readCoarse(1, object, end - 300, end, points)
      let sum = 0
      for (let second = end - 300; second < end; second++) sum += expected(1, second) || 0
      let stored = 0
      for (let i = 0; i < 30; i++) stored += points.sum[points.n + i] ?? 0
      if (sum !== stored) wrong++
    }
    t.equal(wrong, 0, 'every stored value is the written one')
    await writer.close()
  }
})
