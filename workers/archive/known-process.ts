import { ProcessCounters } from '../../storage/archive/increments.ts'
import { recoverBaseline } from '../../storage/archive/recover.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { ProcessAge } from './process-age.ts'
import { RowMap } from './row-map.ts'

/** A process of HAProxy whose counters are followed. */
export interface KnownProcess {
  readonly counters: ProcessCounters
  readonly rows: RowMap
  /** What this process counts is part of what its successor reports. */
  isShared: boolean
  /** `undefined` when this run has not heard it yet, or only from a successor's poll. */
  age: ProcessAge | undefined
}

/** `fresh`: its counters began at zero after the last poll. */
export function newProcess(pid: number, fresh: boolean, age?: ProcessAge): KnownProcess {
  return { counters: new ProcessCounters(pid, fresh), rows: new RowMap(), isShared: false, age }
}

/** The process that the run before followed, with its counters of then: if it is still there, nothing of it is lost. */
export function restoredProcess(writer: ArchiveWriter): KnownProcess | undefined {
  const baseline = recoverBaseline(writer.databases, writer.objects())
  if (baseline === undefined) return undefined
  const bySlot = new Map<number, readonly number[]>()
  for (const { id, kind, name, backend, died_s } of writer.objects()) {
    if (died_s !== undefined) continue
    // Also those whose counters are not known: they are not new, and what they have is not an increment.
    const place = writer.ensure(kind, name, backend)
    const counters = baseline.counters.get(id)
    if (counters !== undefined && place !== undefined) bySlot.set(place.slot, counters)
  }
  const process = newProcess(baseline.pid, false)
  process.counters.restore(writer.registry.slots, (slot, counter) => bySlot.get(slot)?.[counter])
  return process
}
