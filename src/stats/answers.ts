/** A whole answer body (envelope included, UTF-8) that the caller writes as it is and must not change. */
export interface LiveAnswer {
  readonly body: Uint8Array
  /** With quotes, ready for the header `ETag`; the same as long as the bytes are. */
  readonly etag: string
}

export interface HistoryAnswer {
  /** Empty when there are `slices`. */
  readonly body: Uint8Array
  /** Present when every point of the answer is final. */
  readonly etag: string | undefined
  readonly contentType: 'application/json' | 'text/csv; charset=utf-8'
  /** The next answer is written over these bytes. */
  readonly isTransient?: true
  /** A long answer in slices, made while it is sent; what is returned at the end says why it could not be completed. */
  readonly slices?: () => Iterator<Uint8Array, string | undefined>
  /** The request headers that choose the form. */
  readonly vary: string
}
