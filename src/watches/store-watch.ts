import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'

/** Gives a failed disk some seconds, and keeps a daemon that fails repeatedly from restarting without a pause. */
const LOOK_EVERY_MS = 5_000

export interface StoreWatchParts {
  readonly stateFolder: string
  /** The reason why a store must be reopened; undefined while none has failed. */
  readonly failure: () => string | undefined
  /** Called when the disk works again and the store does not: only another process can reopen it. */
  readonly end: (reason: string) => void
  readonly log: Log
}

/**
 * Watches for failed stores. After a failure LMDB is no longer used; the daemon is restarted once the disk has proved
 * to work.
 */
export class StoreWatch {
  readonly #parts: StoreWatchParts
  readonly #looks: Repeated
  #isTold = false

  constructor(parts: StoreWatchParts) {
    this.#parts = parts
    this.#looks = new Repeated('the disk of the stores', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): void {
    this.#looks.start()
  }

  close(): void {
    this.#looks.stop()
  }

  /** Checks once; rejects while the disk fails. */
  async look(): Promise<void> {
    const { stateFolder, failure, end, log } = this.#parts
    const reason = failure()
    if (reason === undefined) return
    if (!this.#isTold) log.error('a store has failed; the daemon restarts as soon as the disk works', { reason })
    this.#isTold = true
    await writeDurably(join(stateFolder, 'probe'))
    end(reason)
  }
}

/** Writes a test file, like the archive's `StorageWatch`; here a disk that hangs must not block the main thread. */
async function writeDurably(path: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.write(new Uint8Array(4_096))
    await file.datasync()
  } finally {
    await file.close()
  }
  await rm(path)
}
