/** Writes an archive as fast as possible and reports each committed second; is killed by its parent. */
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { writeSync } from 'node:fs'
import { KILL_OBJECTS, KILL_START_S, killValue } from './kill-values.ts'

const [, , directory] = process.argv
if (directory === undefined) throw new Error('usage: kill-child.ts DIRECTORY')
const writer = new ArchiveWriter(directory, KILL_START_S)
for (let second = writer.hwm_s; ; second++) {
  writer.ring.beginSecond(second)
  for (let n = 0; n < KILL_OBJECTS; n++) {
    const object = writer.ensure('server', `server-${n}`, 'backend')
    if (object === undefined) continue
    for (let metric = 0; metric < METRIC_COUNT; metric++) {
      writer.ring.set(object.slot, second, metric, killValue(n, metric, second))
    }
  }
  writer.commit(second + 1, true, undefined)
  writeSync(1, `${second + 1}\n`)
}
