import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'

/** Gives a failed disk some seconds, and keeps a daemon that fails again and again from restarting without a pause. */
const LOOK_EVERY_MS = 5_000

export interface StoreWatchParts {
  readonly stateFolder: string
  /** Why a store has to be opened anew; undefined while none has. */
  readonly failure: () => string | undefined
  /** The disk works, and the store does not: only another process can open it anew. */
  readonly end: (reason: string) => void
  readonly log: Log
}

/** After LMDB has failed, it is not used any more; the daemon is restarted once the disk has been seen to work. */
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

  /** Rejects while the disk fails. */
  async look(): Promise<void> {
    const { stateFolder, failure, end, log } = this.#parts
    const reason = failure()
    if (reason === undefined) return
    if (!this.#isTold) log.error('a store has failed; the daemon starts anew as soon as the disk works', { reason })
    this.#isTold = true
    await writeDurably(join(stateFolder, 'probe'))
    end(reason)
  }
}

/** What the archive's `StorageWatch` tries as well; here a disk that hangs must not hold up the main thread. */
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
