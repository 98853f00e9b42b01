export const KILL_OBJECTS = 130
export const KILL_START_S = 1_700_000_000

/** The child's values, which the parent can compute. */
export function killValue(object: number, metric: number, second: number): number {
  return (second * 7 + object * 13 + metric * 101) % (object % 2 === 0 ? 997 : 1)
}
