/**
 * A long answer, generated in slices. A slice is valid until the next is requested. The return value says why the
 * answer could not be completed; undefined if it is complete.
 */
export type Slices = Iterator<Uint8Array, string | undefined>

/** The destination of an answer without an end. */
export interface StreamSink {
  /** A client that does not accept what is written is cut off. */
  write(text: string | Uint8Array): void
  /** Whether the client has not accepted everything yet; undefined if unknown. */
  readonly isBehind?: boolean
  end(): void
}

/** Writes to the sink while the client stays; the returned function is called when it is gone. */
export type Stream = (sink: StreamSink) => () => void

/** Holds the bytes; called in the turn in which they are received. Returns a function that releases them. */
export type Hold = () => () => void

/** Compresses bytes in another thread; they must not change until then. */
export type Pack = (packing: 'gzip' | 'br', body: Uint8Array) => Promise<Uint8Array>

/** Bytes rendered beforehand: the whole answer, envelope included. */
export interface Rendered<Body extends Uint8Array | string = Uint8Array | string> {
  /** 200 by default; 303 with a header Location. */
  readonly status?: 303
  readonly body: Body
  /** The next answer overwrites these bytes: they are sent at once, and code that keeps them copies them. */
  readonly isTransient?: true
  /** The same request would be answered differently a moment later, so the answer is never reused. */
  readonly isOfNow?: true
  /** Makes a copy unnecessary: bytes are not overwritten while they are held. */
  readonly hold?: Hold
  /** The same bytes, compressed beforehand; without them, `body` is compressed on demand. */
  readonly encoded?: { readonly br: Uint8Array; readonly gzip: Uint8Array }
  /** Compresses on demand, instead of the libuv pool. */
  readonly pack?: Pack
  /** Instead of `body`: generated while it is sent. If it cannot be completed, the connection is closed. */
  readonly slices?: () => Slices
  /** Instead of `body`: an answer without an end. */
  readonly stream?: Stream
  /** Whether the stream is rendered once for all its followers, so that many are allowed. */
  readonly isShared?: true
  /** Names of the request headers that choose between forms of this answer, for `Vary`. */
  readonly vary?: string
  readonly contentType?: string
  /** Quoted entity tag; a matching If-None-Match is answered with 304. */
  readonly etag?: string | undefined
  readonly cacheControl?: string
  readonly headers?: Readonly<Record<string, string>>
}
