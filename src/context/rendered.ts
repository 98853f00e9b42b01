/**
 * A long answer, made a little at a time. A slice is valid until the next is asked for. What is returned at the end
 * says why the answer could not be completed; `undefined` when it is whole.
 */
export type Slices = Iterator<Uint8Array, string | undefined>

/** Where an answer without an end is written to. */
export interface StreamSink {
  /** A client that does not take what is written to it is cut off. */
  write(text: string | Uint8Array): void
  /** Whether the client has yet to take what was written; undefined where nobody knows. */
  readonly isBehind?: boolean
  end(): void
}

/** Writes to the sink for as long as the client stays; the answer is called when it is gone. */
export type Stream = (sink: StreamSink) => () => void

/** Called in the turn in which the bytes are had; answers what lets them go. */
export type Hold = () => () => void

/** Compresses bytes beside the thread that answers; they stay as they are until it has. */
export type Pack = (packing: 'gzip' | 'br', body: Uint8Array) => Promise<Uint8Array>

/** Bytes that were rendered beforehand: the whole answer, envelope included. */
export interface Rendered<Body extends Uint8Array | string = Uint8Array | string> {
  /** 200, or where else the answer is: its header Location says it. */
  readonly status?: 303
  readonly body: Body
  /** The next answer is written over the bytes: they are sent at once, and copied by whoever keeps them. */
  readonly isTransient?: true
  /** Asked for a moment later it is another one: nobody is answered with it again. */
  readonly isOfNow?: true
  /** A copy can be spared: bytes that are held are not written over. */
  readonly hold?: Hold
  /** The same bytes, compressed beforehand; without them they are compressed when somebody wants that. */
  readonly encoded?: { readonly br: Uint8Array; readonly gzip: Uint8Array }
  /** Who compresses them when somebody wants that, unless it is the common pool of threads. */
  readonly pack?: Pack
  /** Instead of `body`: made while it is sent. When it cannot be completed, the connection is closed. */
  readonly slices?: () => Slices
  /** Instead of `body`: an answer without an end. */
  readonly stream?: Stream
  /** What the stream tells is made once for all who follow it: many may. */
  readonly isShared?: true
  /** Names of the request headers that choose between forms of this answer, for `Vary`. */
  readonly vary?: string
  readonly contentType?: string
  /** Quoted entity tag; a matching If-None-Match is answered with 304. */
  readonly etag?: string | undefined
  readonly cacheControl?: string
  readonly headers?: Readonly<Record<string, string>>
}
