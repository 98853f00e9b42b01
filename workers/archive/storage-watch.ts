import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { NoRoomError } from '../../storage/room.ts'
import { reasonOf } from '../../src/base/reason.ts'

/** Seconds between two tests of a failed disk. */
const PROBE_EVERY_S = 5
/**
 * After this many failures of LMDB itself, each after a successful test of the disk, its environment is considered
 * unusable.
 */
const FAILURES_MAX = 3

/** What keeps the archive from storing, or from storing everything. */
export interface StorageFault {
  readonly reason: string
  readonly since_ms: number
  /** The archive still stores for a while, by keeping less of the finest tier. */
  readonly isStoring: boolean
  /** Only a restart of the daemon helps, which then begins a new archive. */
  readonly isFinal: boolean
}

/**
 * Tracks whether the archive can be stored. A full disk is an ordinary state that passes. A disk that fails under LMDB
 * is different: LMDB must not write again before a test of the disk has succeeded, because every failed write may
 * damage it.
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

  /** Returns why LMDB must not write now. Tests a failed disk from time to time. */
  forbids(now_ms: number): string | undefined {
    const fault = this.#fault
    if (fault === undefined || this.#failures === 0) return undefined
    const now_s = now_ms / 1_000
    if (fault.isFinal || Math.abs(now_s - this.#probed_s) < PROBE_EVERY_S) return fault.reason
    this.#probed_s = now_s
    const refusal = probe(this.#path)
    return refusal === undefined ? undefined : `the disk fails (${refusal})`
  }

  /** A commit succeeded. With a `shortage` it used up some of the remaining room. */
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
    const advice = isFinal ? '; the disk works again, and the daemon restarts' : ''
    this.#fault = { reason: `the disk failed (${message.split(':')[0]})${advice}`, since_ms, isStoring: false, isFinal }
  }
}

/** Returns the error code of a small durable write; `undefined` when the disk works. */
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
