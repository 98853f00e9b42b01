import type { Descriptor, Tls } from './acceptor.ts'

/** What a thread in front begins with. */
export interface FrontOptions {
  /** Where the thread behind answers. */
  readonly socketPath: string
  /** The memory of `Validity`. */
  readonly validity: SharedArrayBuffer
  /** Number of threads in front. */
  readonly threads: number
  /** Prefix for the ids of requests that it answers itself. */
  readonly idPrefix: string
}

/** To a thread in front. Listeners are told apart by a number. */
export type ToFront =
  | {
      readonly type: 'open'
      readonly request: number
      readonly listener: number
      readonly port: number
      readonly tls: Tls | undefined
    }
  | { readonly type: 'drain' | 'close'; readonly listener: number }
  /** It is to say so when no answer is owed there. */
  | { readonly type: 'answered'; readonly request: number; readonly listener: number }
  | { readonly type: 'end' }

export type FromFront =
  | { readonly type: 'opened'; readonly request: number; readonly descriptor: Descriptor }
  | { readonly type: 'failed'; readonly request: number; readonly reason: string }
  | { readonly type: 'answered'; readonly request: number }
  /** A defect, for the daemon's log. */
  | { readonly type: 'defect'; readonly detail: string }
