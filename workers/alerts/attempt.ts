import { type Found, outwardPlace } from '../../src/base/outward-place.ts'
import type { Sending, Stage } from '../../src/model/alerts.ts'

/** Sends messages; yields the number that the target has accepted since the last yield. */
export type Way = (sending: Sending) => AsyncGenerator<number, void>

/** Why a message was not accepted, in the words of the server or library, which may contain secrets. */
export class Failed extends Error {
  readonly stage: Stage
  readonly retryAfter_s: number | undefined
  readonly isFinal: boolean
  readonly having: readonly string[]

  constructor(
    stage: Stage,
    reason: string,
    more: {
      readonly retryAfter_s?: number | undefined
      readonly isFinal?: boolean
      readonly having?: readonly string[]
    } = {},
  ) {
    super(reason)
    this.stage = stage
    this.retryAfter_s = more.retryAfter_s
    this.isFinal = more.isFinal ?? false
    this.having = more.having ?? []
  }
}

/** Resolves the current address of a target; see `outwardPlace`. */
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
