import { createHash } from 'node:crypto'
import type { Put, SharedTable, SideTable } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import type { SecondFactor } from '../model/access.ts'
import { sameText } from '../base/same-text.ts'
import { isNoQuorum, Owed } from './owed.ts'
import { recoveryHash } from './recovery-codes.ts'
import { looksLikeCode, stepOfCode } from './totp.ts'

/** The used codes of one enrolment. */
interface Used {
  /** Time step of the last code that was accepted. */
  readonly step: number
  /** Hashes of the used recovery codes. */
  readonly codes: readonly string[]
}

const NOTHING: Used = { step: 0, codes: [] }

/**
 * Judges codes. An accepted code is on the disk before it counts, so that none is accepted twice, even across a crash.
 * Used codes are stored by enrolment and for ever: restoring a user, or a second factor, makes no used code valid
 * again.
 */
export class SecondFactors {
  readonly #table: SharedTable
  readonly #clock: Clock
  readonly #used = new Map<string, Used>()
  readonly #owed: Owed<Used>

  constructor(table: SharedTable, owed: SideTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
    const learn = ({ key, value }: Put) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `accepts` and `payOwed` only
      const told = value as Used
      // Merged, so that a used code stays used: another node does not know which codes were used here without a quorum.
      const { step, codes } = this.#used.get(key) ?? NOTHING
      this.#used.set(key, { step: Math.max(told.step, step), codes: [...new Set([...told.codes, ...codes])] })
    }
    this.#owed = new Owed(owed, 'signIns')
    for (const row of table.entries()) learn(row)
    for (const [key, value] of this.#owed.entries()) learn({ key, value })
    table.follow(({ puts }) => puts.forEach(learn))
  }

  /** Accepts a code of the device, or a recovery code. */
  async accepts(factor: SecondFactor, code: string): Promise<boolean> {
    const key = keyOf(factor)
    const spend = () => {
      const used = this.#spent(factor, code, this.#used.get(key) ?? NOTHING)
      return used && { puts: [{ key, value: used }], removed: [] }
    }
    try {
      return await this.#table.update(spend)
    } catch (error) {
      if (!isNoQuorum(error)) throw error
      // Users can log in without a quorum as well.
      const [row] = spend()?.puts ?? []
      if (row === undefined) return false
      this.#used.set(row.key, row.value)
      this.#owed.note(row.key, row.value)
      await this.#owed.keep()
      return true
    }
  }

  /** Tells the other nodes which codes were used here without a quorum. */
  payOwed(): Promise<void> {
    const rowOf = (key: string) => ({ key, value: this.#used.get(key) ?? NOTHING })
    return this.#owed.pay((keys) => this.#table.update(() => ({ puts: keys.map(rowOf), removed: [] })))
  }

  /** Returns the used codes including this one; undefined if it is not accepted. */
  #spent(factor: SecondFactor, code: string, used: Used): Used | undefined {
    if (looksLikeCode(code)) {
      const step = stepOfCode(factor.secret, code, this.#clock.now_ms(), used.step)
      return step === undefined ? undefined : { ...used, step }
    }
    const hash = recoveryHash(code)
    if (!factor.recoveryCodes.some((known) => sameText(known, hash)) || used.codes.includes(hash)) return undefined
    return { ...used, codes: [...used.codes, hash] }
  }

  recoveryCodesLeft(factor: SecondFactor): number {
    const used = new Set(this.#used.get(keyOf(factor))?.codes)
    return factor.recoveryCodes.filter((hash) => !used.has(hash)).length
  }
}

/** Returns a key from which the secret cannot be found. */
const keyOf = ({ secret }: SecondFactor) => createHash('sha256').update(`enrolment ${secret}`).digest('base64url')
