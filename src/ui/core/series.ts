/** Figures over time, in steps of the same length. */

export interface Steps {
  /** Seconds. */
  readonly start: number
  readonly resolution: number
}

export const timesOf = ({ start, resolution }: Steps, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => start + at * resolution)

/**
 * What was `before_s` before each of these times. Of long ago longer steps are kept, so places in the two rows do not
 * stand for the same times.
 */
export const valuesBefore = (
  times: readonly number[],
  before_s: number,
  { start, resolution }: Steps,
  values: readonly (number | null)[],
): readonly (number | null)[] => times.map((time) => values[Math.floor((time - before_s - start) / resolution)] ?? null)
