import { turn } from './turns.ts'

/** In UTF-16 units. */
const SHORT_MAX = 256 * 1_024

/** Work on it holds up the event loop. */
export const isLong = (text: string): boolean => text.length > SHORT_MAX

/**
 * V8 joins the parts that a text was put together of at the first look into it: 10 MB take some 10 ms, which are a turn
 * of their own here.
 */
export async function joinParts(text: string): Promise<void> {
  await turn()
  text.charCodeAt(0)
  await turn()
}
