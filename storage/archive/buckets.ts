/**
 * Spreads a counter increment over `n` buckets: evenly, with the remainder one each to the last buckets, so that the
 * buckets add up to the increment exactly. Returns the share of bucket `index`. An unknown increment (NaN) stays
 * unknown.
 */
export function shareOf(increment: number, n: number, index: number): number {
  if (n === 1 || increment !== increment) return increment
  const even = Math.floor(increment / n)
  const remainder = increment - even * n
  return index >= n - remainder ? even + 1 : even
}
