import type { Consolidation, Metric } from '../model/metrics.ts'
import type { Health } from '../model/real-server.ts'
import type { Rendered } from './rendered.ts'

/** Which part of the live figures; `rip` answers one element per backend that holds the real server. */
export type LiveView =
  | { readonly kind: 'all' | 'frontends' | 'backends' | 'rips' }
  | { readonly kind: 'frontend' | 'backend' | 'backend-rips' | 'rip'; readonly id: string }

/** Figures as whole answers; undefined when running has no such object. Other nodes may have to be asked first. */
export interface LiveFigures {
  render(view: LiveView): Rendered | undefined | Promise<Rendered | undefined>
}

/** What the health checks of both layers say. */
export interface HealthReader {
  ofReal(ripId: string): Health
}

/** Figures of Layer 4, under the same views and queries. */
export interface Layer4Figures {
  readonly live: LiveFigures
  readonly history: HistoryFigures
}

export interface HistoryQuery {
  /** Unix seconds. */
  readonly start: number
  readonly end: number
  /** Preferred seconds per point; undefined is the finest available. */
  readonly resolution: number | undefined
  /** Instead of it: the finest available with at most so many points. */
  readonly points?: number | undefined
  readonly consolidation: Consolidation
  readonly metrics: readonly Metric[]
  readonly format: 'json' | 'csv'
}

/** Kinds of objects as the archive has them. */
export type HistoryKind = 'frontend' | 'backend' | 'server'

export interface HistoryFigures {
  frontend(id: string, query: HistoryQuery): Rendered | undefined
  backend(id: string, query: HistoryQuery): Rendered | undefined
  backendReals(id: string, query: HistoryQuery): Rendered | undefined
  rip(id: string, query: HistoryQuery): Rendered | undefined
  /** The history of a real server that is in no backend. */
  none(query: HistoryQuery): Rendered | undefined
  /** What runs with this id. */
  kindsOf(id: string): readonly HistoryKind[]
  /** Histories of those ids that run, in one answer; a real server once for each of its backends. */
  several(kind: HistoryKind, ids: readonly string[], query: HistoryQuery): Rendered | undefined
}
