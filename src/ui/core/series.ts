/** Figures over time, in steps of equal length. */

export interface Steps {
  /** Seconds. */
  readonly start: number
  readonly resolution: number
}

export const timesOf = ({ start, resolution }: Steps, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => start + at * resolution)

/**
 * Returns the values `before_s` before each of these times. Older figures are stored in longer steps, so equal indexes
 * in the two series are not equal times.
 */
export const valuesBefore = (
  times: readonly number[],
  before_s: number,
  { start, resolution }: Steps,
  values: readonly (number | null)[],
): readonly (number | null)[] => times.map((time) => values[Math.floor((time - before_s - start) / resolution)] ?? null)

export type Series = Readonly<Record<string, readonly (number | null)[]>>

/** Returns the sum of series that are stored per backend: a point is known if one of them knows it. */
export function sumOfSeries([first = {}, ...others]: readonly Series[]): Series {
  const plus = (a: number | null, b: number | null | undefined) => (a === null ? (b ?? null) : a + (b ?? 0))
  return others.reduce(
    (sum: Series, one) =>
      Object.fromEntries(
        Object.entries(sum).map(([metric, values]) => [
          metric,
          values.map((value, at) => plus(value, one[metric]?.[at])),
        ]),
      ),
    first,
  )
}
