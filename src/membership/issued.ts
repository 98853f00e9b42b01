import { issuingPair, numbersOf } from './authorities.ts'
import type { Members } from './members.ts'

/**
 * A certificate that was issued but could not be installed yet. Each one adds a serial number that all nodes store, so
 * the same one is tried again, unless the authorities have changed.
 */
export class Issued<T> {
  #kept: { readonly of: string; readonly what: T } | undefined

  async again(members: Pick<Members, 'voters' | 'authorities'>, holder: string, issue: () => Promise<T>): Promise<T> {
    const of = [holder, issuingPair(members).number, ...numbersOf(members.authorities())].join()
    if (this.#kept?.of !== of) this.#kept = { of, what: await issue() }
    return this.#kept.what
  }

  /** Called when it is installed. */
  done(): void {
    this.#kept = undefined
  }
}
