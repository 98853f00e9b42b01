export const KILL_OBJECTS = 130
export const KILL_START_S = 1_700_000_000

/** What the child writes, computable by the parent. */
export function killValue(object: number, metric: number, second: number): number {
  return (second * 7 + object * 13 + metric * 101) % (object % 2 === 0 ? 997 : 1)
}
