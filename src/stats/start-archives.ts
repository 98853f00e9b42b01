import type { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { ArchivesOptions, ToArchiveThread } from '../../workers/archive/messages.ts'

/** The part of a thread that the keeper uses. */
export interface ArchiveWorker extends Pick<EventEmitter, 'on' | 'once'> {
  /** Negative when the thread has ended. */
  readonly threadId: number
  postMessage(message: ToArchiveThread): void
  terminate(): Promise<unknown>
}
export type StartArchives = (options: ArchivesOptions) => ArchiveWorker

const ENTRY = new URL('../../workers/archive.ts', import.meta.url)

const startThread = (): Worker => new Worker(ENTRY, { name: 'archive' })

export function startArchives(options: ArchivesOptions, worker = startThread()): Worker {
  worker.postMessage(options)
  return worker
}

/**
 * Starts a thread before its archives are known. It loads its modules while the main thread loads its own, and the
 * first caller that starts the archives gets it.
 */
export function startArchivesEarly(early = startThread()): StartArchives {
  let unused: Worker | undefined = early
  // The code that starts the archives then starts another thread and receives the same failure.
  early.on('error', () => undefined)
  return (options) => {
    const worker = unused !== undefined && unused.threadId >= 0 ? unused : undefined
    unused = undefined
    return startArchives(options, worker)
  }
}
