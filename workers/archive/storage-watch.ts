import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { NoRoomError } from '../../storage/room.ts'
import { reasonOf } from '../../src/base/reason.ts'

/** Seconds between two looks at a disk that failed. */
const PROBE_EVERY_S = 5
/**
 * After this many failures of LMDB itself, each after a good look at the disk, its environment is considered unusable.
 */
const FAILURES_MAX = 3

/** What keeps the archive from storing, or from storing all. */
export interface StorageFault {
  readonly reason: string
  readonly since_ms: number
  /** There is still room for a while, made by keeping less of the finest tier. */
  readonly isStoring: boolean
  /** Nothing but a new start of the daemon helps, which then starts anew by itself. */
  readonly isFinal: boolean
}

/**
 * Watches whether the archive can be stored. A lack of room is an ordinary state that ends by itself. A disk that fails
 * under LMDB is another matter: LMDB must not be asked again before the disk has been seen to work, because every
 * failed write may harm it.
 */
export class StorageWatch {
  readonly #path: string
  #fault: StorageFault | undefined
  #failures = 0
  #probed_s = 0

  constructor(directory: string) {
    this.#path = join(directory, 'probe')
  }

  get fault(): StorageFault | undefined {
    return this.#fault
  }

  /** Why LMDB must not be asked to write now. Looks at the disk, now and then, when it failed before. */
  forbids(now_ms: number): string | undefined {
    const fault = this.#fault
    if (fault === undefined || this.#failures === 0) return undefined
    const now_s = now_ms / 1_000
    if (fault.isFinal || Math.abs(now_s - this.#probed_s) < PROBE_EVERY_S) return fault.reason
    this.#probed_s = now_s
    const refusal = probe(this.#path)
    return refusal === undefined ? undefined : `the disk fails (${refusal})`
  }

  /** A commit went well. With a `shortage` the room that is left is being used up. */
  stored(shortage: string | undefined, now_ms: number): void {
    this.#failures = 0
    const since_ms = this.#fault?.since_ms ?? Math.round(now_ms)
    this.#fault = shortage === undefined ? undefined : { reason: shortage, since_ms, isStoring: true, isFinal: false }
  }

  failed(error: unknown, now_ms: number): void {
    const since_ms = this.#fault?.since_ms ?? Math.round(now_ms)
    const message = reasonOf(error)
    if (error instanceof NoRoomError) {
      this.#fault = { reason: message, since_ms, isStoring: false, isFinal: this.#fault?.isFinal ?? false }
      return
    }
    this.#failures++
    this.#probed_s = now_ms / 1_000
    const isFinal = this.#failures >= FAILURES_MAX
    const advice = isFinal ? '; the disk works again, and the daemon starts anew' : ''
    this.#fault = { reason: `the disk failed (${message.split(':')[0]})${advice}`, since_ms, isStoring: false, isFinal }
  }
}

/** The code of the error that a small durable write meets; `undefined` when the disk works. */
function probe(path: string): string | undefined {
  try {
    const file = openSync(path, 'w', 0o600)
    try {
      writeSync(file, new Uint8Array(4_096))
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
    rmSync(path)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'ERROR'
  }
}
