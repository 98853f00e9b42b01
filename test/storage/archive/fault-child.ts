/**
 * Writes an archive for some seconds on a disk that fails, continues whatever happens, and reports each committed
 * second.
 */
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { writeSync } from 'node:fs'
import { KILL_OBJECTS, KILL_START_S, killValue } from './kill-values.ts'

const [, , directory, seconds] = process.argv
if (directory === undefined || seconds === undefined) throw new Error('usage: fault-child.ts DIRECTORY SECONDS')
const writer = new ArchiveWriter(directory, KILL_START_S)
for (let i = 0; i < Number(seconds); i++) {
  const second = writer.ring.written()
  writer.ring.beginSecond(second)
  for (let n = 0; n < KILL_OBJECTS; n++) {
    const object = writer.ensure('server', `server-${n}`, 'backend')
    if (object === undefined) continue
    for (let metric = 0; metric < METRIC_COUNT; metric++) {
      writer.ring.set(object.slot, second, metric, killValue(n, metric, second))
    }
  }
  try {
    writer.commit(second + 1, true, undefined)
    writeSync(1, `${second + 1}\n`)
  } catch {
    writeSync(1, 'failed\n')
  }
}
