import { timingSafeEqual } from 'node:crypto'

/**
 * Returns whether two texts are equal, in a time that does not depend on where they differ: for secrets and their
 * derivatives.
 */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
