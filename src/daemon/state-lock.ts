import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface StateLock {
  release(): void
}

/** Keeps the locks referenced: an unreferenced one would be collected, and released. */
const held = new Set<DatabaseSync>()

/**
 * Locks a state folder for one daemon. The lock is the kernel's own on a file in the folder, taken as SQLite takes it
 * (Node has no call for it): it belongs to one process across all namespaces, and ends with that process, however it
 * dies.
 */
export function lockState(folder: string): StateLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = new DatabaseSync(join(folder, 'lock'))
  try {
    // Nothing is ever written; a journal file would need space, and the daemon must start on a full disk.
    lock.exec('PRAGMA journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    const isTaken = (error as { errcode?: number }).errcode === SQLITE_BUSY
    const reason = isTaken
      ? 'another daemon is using it; stop that daemon (removing the file does not help)'
      : String(error)
    throw new Error(`the state folder ${folder} cannot be locked: ${reason}`, { cause: error })
  }
  held.add(lock)
  return {
    release() {
      held.delete(lock)
      lock.close()
    },
  }
}

const SQLITE_BUSY = 5
