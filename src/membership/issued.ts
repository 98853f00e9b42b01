import { issuingPair, numbersOf } from './authorities.ts'
import type { Members } from './members.ts'

/**
 * What was issued for somebody and could not be put in place yet. Each certificate is one more serial number that all
 * nodes keep, so it is tried again with the same one, unless other authorities count by now.
 */
export class Issued<T> {
  #kept: { readonly of: string; readonly what: T } | undefined

  async again(members: Pick<Members, 'voters' | 'authorities'>, holder: string, issue: () => Promise<T>): Promise<T> {
    const of = [holder, issuingPair(members).number, ...numbersOf(members.authorities())].join()
    if (this.#kept?.of !== of) this.#kept = { of, what: await issue() }
    return this.#kept.what
  }

  /** It is in place. */
  done(): void {
    this.#kept = undefined
  }
}
