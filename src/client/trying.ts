import type { Answer } from './answer.ts'

export interface Bounds {
  /** The same request is sent so often. */
  readonly tries_max?: number | undefined
  /** Who is to come back later than that is told so. */
  readonly wait_s_max?: number | undefined
}

export interface Tried extends Bounds {
  /** Of a request that got no answer: whether it may be sent again. */
  readonly mayRepeat: (error: unknown) => boolean
  readonly signal?: AbortSignal | undefined
}

const TRIES_MAX = 4
const WAIT_S_MAX = 10
const BACK_OFF_MS = 250
/** Refused for now: with Retry-After, and without anything having been done. */
const LATER: ReadonlySet<number> = new Set([409, 429, 503])

/** Sends again what was refused for the moment, and what got no answer where that cannot do anything twice. */
export async function tried<A extends Answer>(
  send: (isLast: boolean) => Promise<A>,
  { mayRepeat, signal, tries_max = TRIES_MAX, wait_s_max = WAIT_S_MAX }: Tried,
): Promise<A> {
  for (let tries = 1; ; tries += 1) {
    const isLast = tries >= tries_max
    let wait_ms: number
    try {
      const answer = await send(isLast)
      const wait_s = waitOf_s(answer)
      if (isLast || !(wait_s <= wait_s_max)) return answer
      await answer.body?.cancel()
      wait_ms = wait_s * 1000
    } catch (error) {
      if (isLast || !mayRepeat(error)) throw error
      wait_ms = BACK_OFF_MS * 2 ** (tries - 1)
    }
    await pause(wait_ms, signal)
  }
}

/** Of what was refused for the moment; else no number. */
const waitOf_s = ({ status, headers }: Answer): number =>
  LATER.has(status) ? Number(headers.get('retry-after') ?? NaN) : NaN

/** Ends early, with the reason, when the signal is aborted. */
export function pause(wait_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }, wait_ms)
    if (signal?.aborted === true) aborted()
    else signal?.addEventListener('abort', aborted, { once: true })
  })
}
