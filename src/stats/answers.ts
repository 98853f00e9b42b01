/** A whole answer body (envelope included, UTF-8) that the caller writes as it is and must not change. */
export interface LiveAnswer {
  readonly body: Uint8Array
  /** With quotes, ready for the header `ETag`; a new one for each tick. */
  readonly etag: string
}

export interface HistoryAnswer {
  readonly body: Uint8Array
  /** Present when every point of the answer is final. */
  readonly etag: string | undefined
  readonly contentType: 'application/json' | 'text/csv; charset=utf-8'
}
