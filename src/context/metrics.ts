import type { Rendered } from './rendered.ts'

export type MetricsFormat = 'openmetrics' | 'prometheus'

/** The figures of this node in the form that monitoring systems collect. */
export interface MetricsReader {
  /** In the form that an Accept header prefers; the same bytes for every caller in the same second. */
  answer(accept: string): Promise<Rendered>
}
