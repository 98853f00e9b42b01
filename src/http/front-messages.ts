import type { Descriptor, Tls } from './acceptor.ts'

/** Start parameters of a thread in front. */
export interface FrontOptions {
  /** Address of the thread behind. */
  readonly socketPath: string
  /** The shared memory of `Validity`. */
  readonly validity: SharedArrayBuffer
  /** Number of threads in front. */
  readonly threads: number
  /** Prefix for the ids of requests that the thread answers itself. */
  readonly idPrefix: string
}

/** Messages to a thread in front. A number identifies the listener. */
export type ToFront =
  | {
      readonly type: 'open'
      readonly request: number
      readonly listener: number
      readonly port: number
      readonly tls: Tls | undefined
    }
  | { readonly type: 'drain' | 'close'; readonly listener: number }
  /** Asks for a message once the listener owes no answer. */
  | { readonly type: 'answered'; readonly request: number; readonly listener: number }
  | { readonly type: 'end' }

export type FromFront =
  | { readonly type: 'opened'; readonly request: number; readonly descriptor: Descriptor }
  | { readonly type: 'failed'; readonly request: number; readonly reason: string }
  | { readonly type: 'answered'; readonly request: number }
  /** Reports a defect for the daemon's log. */
  | { readonly type: 'defect'; readonly detail: string }
