/**
 * A process of its own that feeds an archive: `feed-archive.ts DIRECTORY OBJECTS SECONDS END`. Prints what it cost as
 * JSON.
 */
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { feedObjects } from './feed-objects.ts'
import { METRIC_NAMES, valueAt } from './data-set.ts'
import { privateBytes, handedBytes } from './programs.ts'

const [directory = '', objects, seconds, end] = process.argv.slice(2)
const fed = feedObjects(Number(objects))
const end_s = Number(end)
const start_s = end_s - Number(seconds)

const writer = new ArchiveWriter(directory, start_s)
const places = fed.map((object) => ({ object, ensured: writer.ensure('frontend', object.name, '') }))
globalThis.gc?.()
const [written, memory] = [handedBytes('self'), privateBytes('self')]
for (let second = start_s; second < end_s; second += 1) {
  writer.ring.beginSecond(second)
  for (const { object, ensured } of places) {
    for (const metric of METRIC_NAMES.keys())
      writer.ring.set(ensured?.slot ?? -1, second, metric, valueAt(object, metric, second))
  }
  writer.commit(second + 1, true, undefined)
}
globalThis.gc?.()
const cost = { written_bytes: handedBytes('self') - written, memory_bytes: privateBytes('self') - memory }
await writer.close()
console.log(JSON.stringify(cost))
