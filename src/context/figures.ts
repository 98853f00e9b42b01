import type { Consolidation, Metric } from '../model/metrics.ts'
import type { Health } from '../model/real-server.ts'
import type { Rendered } from './rendered.ts'

/** A part of the live figures; `rip` has one element per backend that contains the real server. */
export type LiveView =
  | { readonly kind: 'all' | 'frontends' | 'backends' | 'rips' }
  | { readonly kind: 'frontend' | 'backend' | 'backend-rips' | 'rip'; readonly id: string }

/** Figures as whole answers; undefined if running has no such object. Other nodes may have to be queried first. */
export interface LiveFigures {
  render(view: LiveView): Rendered | undefined | Promise<Rendered | undefined>
}

/** The results of the health checks of both layers. */
export interface HealthReader {
  ofReal(ripId: string): Health
}

/** Figures of Layer 4, with the same views and queries. */
export interface Layer4Figures {
  readonly live: LiveFigures
  readonly history: HistoryFigures
}

export interface HistoryQuery {
  /** Unix seconds. */
  readonly start: number
  readonly end: number
  /** Preferred seconds per point; undefined for the finest available. */
  readonly resolution: number | undefined
  /** Instead of `resolution`: the finest available with at most this many points. */
  readonly points?: number | undefined
  readonly consolidation: Consolidation
  readonly metrics: readonly Metric[]
  readonly format: 'json' | 'csv'
}

/** Kinds of objects in the archive. */
export type HistoryKind = 'frontend' | 'backend' | 'server'

export interface HistoryFigures {
  frontend(id: string, query: HistoryQuery): Rendered | undefined
  backend(id: string, query: HistoryQuery): Rendered | undefined
  backendReals(id: string, query: HistoryQuery): Rendered | undefined
  rip(id: string, query: HistoryQuery): Rendered | undefined
  /** Returns the empty history of a real server that is in no backend. */
  none(query: HistoryQuery): Rendered | undefined
  /** Returns the kinds of running objects with this id. */
  kindsOf(id: string): readonly HistoryKind[]
  /** Returns the histories of the running objects among these ids in one answer; a real server once per backend. */
  several(kind: HistoryKind, ids: readonly string[], query: HistoryQuery): Rendered | undefined
}
