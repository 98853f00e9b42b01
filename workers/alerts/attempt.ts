import { type Found, outwardPlace } from '../../src/base/outward-place.ts'
import type { Sending, Stage } from '../../src/model/alerts.ts'

/** Sends messages; yields how many more the target has taken. */
export type Way = (sending: Sending) => AsyncGenerator<number, void>

/** Why a message is not taken, as servers and libraries say it: with secrets, perhaps. */
export class Failed extends Error {
  readonly stage: Stage
  readonly retryAfter_s: number | undefined
  readonly isFinal: boolean

  constructor(
    stage: Stage,
    reason: string,
    more: { readonly retryAfter_s?: number | undefined; readonly isFinal?: boolean } = {},
  ) {
    super(reason)
    this.stage = stage
    this.retryAfter_s = more.retryAfter_s
    this.isFinal = more.isFinal ?? false
  }
}

/** Where a target is now; see `outwardPlace`. */
export async function placeOf(host: string, rules: Pick<Sending, 'allowsLoopback' | 'allowed'>): Promise<Found> {
  const refusal = 'no alert target may be unless --alerts-to allows it'
  try {
    return await outwardPlace(host, { ...rules, refusal })
  } catch (error) {
    throw new Failed('resolve', reasonOf(error))
  }
}

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error)
