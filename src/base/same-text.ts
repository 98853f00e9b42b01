import { timingSafeEqual } from 'node:crypto'

/**
 * Whether two texts are the same, in a time that says nothing of where they differ: for secrets and what is made of
 * them.
 */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
