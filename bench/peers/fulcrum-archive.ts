import type { ObjectKind } from '../../storage/archive/catalog.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { type DataSet, DENSE_S, METRIC_NAMES, type SampledObject, valueAt } from './data-set.ts'

/** An object's name in the daemon. */
export interface ArchiveName {
  readonly kind: ObjectKind
  readonly name: string
  readonly backend: string
}

function put(writer: ArchiveWriter, second: number, object: SampledObject, { kind, name, backend }: ArchiveName): void {
  const slot = writer.ensure(kind, name, backend)?.slot ?? -1
  if (slot < 0) throw new Error(`the archive refuses ${name}`)
  for (const metric of METRIC_NAMES.keys()) writer.ring.set(slot, second, metric, valueAt(object, metric, second))
}

/**
 * Writes the data set through the archive's own writer, in simulated time. Gaps between samples stay unknown, which
 * costs one transaction each, not one per second.
 */
export async function fillArchive(
  directory: string,
  data: DataSet,
  nameOf: (object: SampledObject) => ArchiveName,
): Promise<void> {
  const due = new Map<number, SampledObject[]>()
  for (const object of data.objects) {
    for (const second of data.seconds(object)) {
      const objects = due.get(second)
      if (objects === undefined) due.set(second, [object])
      else objects.push(object)
    }
  }
  const writer = new ArchiveWriter(directory, Math.min(...due.keys()))
  for (const second of [...due.keys()].toSorted((a, b) => a - b)) {
    if (second > writer.hwm_s) writer.commit(second, false, undefined)
    writer.ring.beginSecond(second)
    for (const object of due.get(second) ?? []) put(writer, second, object, nameOf(object))
    writer.commit(second + 1, true, undefined)
  }
  if (writer.hwm_s < data.end_s - DENSE_S) throw new Error('the newest samples are missing')
  await writer.close()
}
