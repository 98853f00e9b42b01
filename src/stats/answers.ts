import type { Consolidation, Metric } from '../model/metrics.ts'

/** Which part of the live statistics; `rip` answers an array with one element per backend that holds the real server. */
export type LiveView =
  | { readonly kind: 'all' | 'frontends' | 'backends' | 'rips' }
  | { readonly kind: 'frontend' | 'backend' | 'backend-rips' | 'rip'; readonly id: string }

/** A whole answer body (envelope included, UTF-8) that the caller writes as it is and must not change. */
export interface LiveAnswer {
  readonly body: Uint8Array
  /** With quotes, ready for the header `ETag`; a new one for each tick. */
  readonly etag: string
}

export interface HistoryQuery {
  /** Unix seconds. */
  readonly start: number
  readonly end: number
  /** Preferred seconds per point; `undefined` is the finest available. */
  readonly resolution: number | undefined
  readonly consolidation: Consolidation
  /** At least one, no duplicates, in the order wanted. */
  readonly metrics: readonly Metric[]
  readonly format: 'json' | 'csv'
}

export interface HistoryAnswer {
  readonly body: Uint8Array
  /** Present when every point of the answer is final. */
  readonly etag: string | undefined
  readonly contentType: 'application/json' | 'text/csv; charset=utf-8'
}
