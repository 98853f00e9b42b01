/**
 * A separate process that feeds an archive: `feed-archive.ts DIRECTORY OBJECTS SECONDS END`. Prints the cost as JSON.
 */
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { feedObjects } from './feed-objects.ts'
import { METRIC_NAMES, valueAt } from './data-set.ts'
import { privateBytes, handedBytes } from './programs.ts'

/** Time until the finest tier is full and the files hardly grow, as those of rrdtool never do. */
const WARM_S = 7_500
const SECONDS_PER_COMMIT = 10

const [directory = '', objects, seconds, end] = process.argv.slice(2)
const fed = feedObjects(Number(objects))
const end_s = Number(end)
const start_s = end_s - Number(seconds)

const writer = new ArchiveWriter(directory, start_s - WARM_S)
const places = fed.map((object) => ({ object, ensured: writer.ensure('frontend', object.name, '') }))

function feed(from_s: number, to_s: number, commit_s: number): void {
  for (let second = from_s; second < to_s; second += 1) {
    writer.ring.beginSecond(second)
    for (const { object, ensured } of places) {
      for (const metric of METRIC_NAMES.keys())
        writer.ring.set(ensured?.slot ?? -1, second, metric, valueAt(object, metric, second))
    }
    if ((second + 1 - from_s) % commit_s === 0) writer.commit(second + 1, true, undefined)
  }
}

globalThis.gc?.()
const memory = privateBytes('self')
feed(start_s - WARM_S, start_s, SECONDS_PER_COMMIT)
const written = handedBytes('self')
feed(start_s, end_s, 1)
globalThis.gc?.()
const cost = { written_bytes: handedBytes('self') - written, memory_bytes: privateBytes('self') - memory }
await writer.close()
console.log(JSON.stringify(cost))
