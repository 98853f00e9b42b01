import type { Answer } from './answer.ts'

export interface Bounds {
  /** The same request is sent so often where nobody answers it. */
  readonly tries_max?: number | undefined
  /** For so long in all it is sent again where it is refused for the moment. */
  readonly wait_s_max?: number | undefined
}

export interface Tried extends Bounds {
  /** For a request that got no answer: whether it may be sent again. */
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
  send: () => Promise<A>,
  { mayRepeat, signal, tries_max = TRIES_MAX, wait_s_max = WAIT_S_MAX }: Tried,
): Promise<A> {
  let left_ms = wait_s_max * 1000
  let tries = 0
  for (;;) {
    let wait_ms: number
    try {
      const answer = await send()
      wait_ms = waitOf_ms(answer)
      left_ms -= wait_ms
      if (!(left_ms >= 0)) return answer
      await answer.body?.cancel()
    } catch (error) {
      tries += 1
      if (tries >= tries_max || !mayRepeat(error)) throw error
      wait_ms = BACK_OFF_MS * 2 ** (tries - 1)
    }
    await pause(wait_ms, signal)
  }
}

/** The wait after a temporary refusal; otherwise NaN. */
const waitOf_ms = ({ status, headers }: Answer): number =>
  LATER.has(status) ? Math.max(Number(headers.get('retry-after') ?? NaN) * 1000, BACK_OFF_MS) : NaN

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
