/** How long before its end a token is renewed. */
const RENEW_BEFORE_S = 600

interface Held {
  readonly token: string
  /** By the clock of this machine; undefined for an API token, whose end is unknown. */
  readonly renewAt_ms: number | undefined
}

/** The token that requests carry. The token of a session is renewed while it lives, an API token is not. */
export class Token {
  readonly #renewBefore_s: number
  #held: Held | undefined
  #renewing: Promise<void> | undefined

  constructor(renewBefore_s: number = RENEW_BEFORE_S) {
    this.#renewBefore_s = renewBefore_s
  }

  get value(): string | undefined {
    return this.#held?.token
  }

  /**
   * Holds a token. Of a fresh token, the lifetime counts, whatever the clock of this machine shows; for any other
   * token, this clock decides.
   */
  hold(token: string | undefined, isFresh: boolean): void {
    if (token === undefined) {
      this.#held = undefined
      return
    }
    const { exp, iat } = claimsOf(token)
    const left_s = exp === undefined ? undefined : exp - (isFresh && iat !== undefined ? iat : Date.now() / 1000)
    const renewAt_ms = left_s === undefined ? undefined : Date.now() + (left_s - this.#renewBefore_s) * 1000
    this.#held = { token, renewAt_ms }
  }

  /** Renews the token when due. After a failure, requests carry the old token, and the next request tries again. */
  async renewed(ask: (token: string) => Promise<string | undefined>): Promise<void> {
    const held = this.#held
    if (held?.renewAt_ms === undefined || Date.now() < held.renewAt_ms) return
    this.#renewing ??= ask(held.token)
      .then(
        (token) => {
          if (token !== undefined && this.#held === held) this.hold(token, true)
        },
        () => undefined,
      )
      .finally(() => (this.#renewing = undefined))
    await this.#renewing
  }
}

/** Returns when a JSON web token expires and was issued, in seconds; nothing for other kinds of token. */
function claimsOf(token: string): { readonly exp?: number; readonly iat?: number } {
  const [, payload, signature] = token.split('.')
  if (payload === undefined || signature === undefined) return {}
  try {
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as object
  } catch {
    return {}
  }
}
