/** The tasks of the exposition pool: writing and compressing what would take processor time from pollers. */
import { constants, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { gzipInParts, type Packing, packHere } from '../src/base/packing.ts'
import type { MetricsFormat } from '../src/context/metrics.ts'
import { type DocumentParts, DocumentWriter } from '../src/exposition/document-writer.ts'
import { sharedMemory } from '../src/exposition/shared-memory.ts'

// For this thread alone, on Linux: HAProxy and the threads that answer go first. Tests without threads stay as they
// are.
if (!isMainThread) {
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Where it may not, it works all the same: an error of a thread that begins would end the daemon.
  }
}

/**
 * A thread that is woken may have to wait until the one that runs has had its slice, milliseconds, whatever the
 * priorities are. So this one stops for a moment after so long.
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
  /** Documents of one series are made of each other. */
  readonly series: string
  readonly parts: DocumentParts
}

/** The last series of each form. */
const writers = new Map<MetricsFormat, { readonly series: string; readonly writer: DocumentWriter }>()

export interface Written {
  readonly length: number
  /** Memory that threads share as well, where that which was handed in did not suffice. */
  readonly grown?: Uint8Array
}

export function write({ format, series, parts }: WriteInput): Written {
  const last = writers.get(format)
  const writer = last?.series === series ? last.writer : new DocumentWriter(format)
  // A document that breaks off halfway is of no use for the next.
  writers.delete(format)
  for (const _ of writer.write(parts)) pause()
  const document = writer.end()
  writers.set(format, { series, writer })
  const { length } = document
  // What was handed in is not handed back: V8 would count it once more.
  return document.buffer === parts.memory.buffer ? { length } : { length, grown: document }
}

/** The answer is in memory that threads share, so that nobody copies it once more. */
export function pack({ packing, body }: { readonly packing: Packing; readonly body: Uint8Array }): Uint8Array {
  const packed = packing === 'gzip' ? gzipInParts(body, pause) : packHere(packing, body)
  const shared = sharedMemory(packed.length)
  shared.set(packed)
  return shared
}
