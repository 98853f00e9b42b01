import { ProcessCounters } from '../../storage/archive/increments.ts'
import { recoverBaseline } from '../../storage/archive/recover.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { ProcessAge } from './process-age.ts'
import { RowMap } from './row-map.ts'

/** A HAProxy process whose counters are tracked. */
export interface KnownProcess {
  readonly counters: ProcessCounters
  readonly rows: RowMap
  /** Open sessions in each row of its last answer; 0 for a process whose gauges do not count. */
  sessions: Float64Array
  /** This process's counters are part of its successor's report. */
  isShared: boolean
  /** `undefined` while this run has not polled the process, or knows it only from a successor's poll. */
  age: ProcessAge | undefined
}

/** `fresh`: its counters began at zero after the last poll. */
export function newProcess(pid: number, fresh: boolean, age?: ProcessAge): KnownProcess {
  return {
    counters: new ProcessCounters(pid, fresh),
    rows: new RowMap(),
    sessions: new Float64Array(0),
    isShared: false,
    age,
  }
}

/** Returns the process that the previous run tracked, with its stored counters: if it still runs, nothing is lost. */
export function restoredProcess(writer: ArchiveWriter): KnownProcess | undefined {
  const baseline = recoverBaseline(writer.databases, writer.objects())
  if (baseline === undefined) return undefined
  const bySlot = new Map<number, readonly number[]>()
  for (const { id, kind, name, backend, died_s } of writer.objects()) {
    if (died_s !== undefined) continue
    // Includes objects whose counters are unknown: they are not new, and their first value is not an increment.
    const place = writer.ensure(kind, name, backend)
    const counters = baseline.counters.get(id)
    if (counters !== undefined && place !== undefined) bySlot.set(place.slot, counters)
  }
  const process = newProcess(baseline.pid, false)
  process.counters.restore(writer.registry.slots, (slot, counter) => bySlot.get(slot)?.[counter])
  return process
}
