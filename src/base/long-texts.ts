import { turn } from './turns.ts'

/** In UTF-16 units. */
const SHORT_MAX = 256 * 1_024

/** Returns whether work on the text would block the event loop. */
export const isLong = (text: string): boolean => text.length > SHORT_MAX

/**
 * V8 joins the parts of a concatenated text when it is first read: 10 MB take some 10 ms, for which this takes a turn
 * of its own.
 */
export async function joinParts(text: string): Promise<void> {
  await turn()
  text.charCodeAt(0)
  await turn()
}
