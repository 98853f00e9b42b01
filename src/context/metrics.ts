import type { Rendered } from './rendered.ts'

export type MetricsFormat = 'openmetrics' | 'prometheus'

/** The figures of this node in the formats of monitoring systems. */
export interface MetricsReader {
  /** Returns the format that an Accept header prefers; all callers get the same bytes within a second. */
  answer(accept: string): Promise<Rendered>
}
