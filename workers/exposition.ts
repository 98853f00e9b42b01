/** The tasks of the exposition pool: writing and compressing, which would take processor time from pollers. */
import { constants, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { gzipInParts, type Packing, packHere } from '../src/base/packing.ts'
import type { MetricsFormat } from '../src/context/metrics.ts'
import { type DocumentParts, DocumentWriter } from '../src/exposition/document-writer.ts'
import { sharedMemory } from '../src/exposition/shared-memory.ts'

// On Linux this lowers the priority of this thread alone: HAProxy and the answering threads come first. Tests without
// threads are not affected.
if (!isMainThread) {
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The thread also works at normal priority, and an exception while it starts would end the daemon.
  }
}

/**
 * Whatever the priorities are, a thread that wakes up may have to wait until the running one has used its slice of some
 * milliseconds. So this thread sleeps for a moment after each stretch.
 */
const STRETCH_MS = 0.3
const PAUSE_MS = 0.05
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
let began_ms = 0

function pause(): void {
  if (isMainThread || performance.now() - began_ms < STRETCH_MS) return
  Atomics.wait(never, 0, 0, PAUSE_MS)
  began_ms = performance.now()
}

export interface WriteInput {
  readonly format: MetricsFormat
  /** Documents of one series are made from each other. */
  readonly series: string
  readonly parts: DocumentParts
}

/** The last series and its writer, by format. */
const writers = new Map<MetricsFormat, { readonly series: string; readonly writer: DocumentWriter }>()

export interface Written {
  readonly length: number
  /** New shared memory, if the memory passed in was too small. */
  readonly grown?: Uint8Array
}

export function write({ format, series, parts }: WriteInput): Written {
  const last = writers.get(format)
  const writer = last?.series === series ? last.writer : new DocumentWriter(format)
  // If writing fails halfway, the next document must start afresh.
  writers.delete(format)
  for (const _ of writer.write(parts)) pause()
  const document = writer.end()
  writers.set(format, { series, writer })
  const { length } = document
  // Memory that was passed in is not passed back, or V8 would count it once more.
  return document.buffer === parts.memory.buffer ? { length } : { length, grown: document }
}

/** Returns the body in shared memory, which saves another copy. */
export function pack({ packing, body }: { readonly packing: Packing; readonly body: Uint8Array }): Uint8Array {
  const packed = packing === 'gzip' ? gzipInParts(body, pause) : packHere(packing, body)
  const shared = sharedMemory(packed.length)
  shared.set(packed)
  return shared
}
