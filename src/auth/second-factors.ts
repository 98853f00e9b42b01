import { createHash } from 'node:crypto'
import type { SideTable } from '../../storage/config/config-store.ts'
import type { Clock } from '../clock.ts'
import type { SecondFactor } from '../model/access.ts'
import { sameText } from '../same-text.ts'
import { recoveryHash } from './recovery-codes.ts'
import { looksLikeCode, stepOfCode } from './totp.ts'

/** What of one enrolment is used up. */
interface Used {
  /** Of the last code that was accepted. */
  readonly step: number
  /** Hashes of recovery codes. */
  readonly codes: readonly string[]
}

const NOTHING: Used = { step: 0, codes: [] }

/**
 * Judges codes. What was accepted once is on the disk before it counts, so that nothing is accepted twice, not even over a crash.
 * It is kept by enrolment and for ever: a user, or a second factor, that comes back with a restore brings no used code back.
 */
export class SecondFactors {
  readonly #table: SideTable
  readonly #clock: Clock
  readonly #used = new Map<string, Used>()

  constructor(table: SideTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `#keep` only
    for (const { key, value } of table.entries()) this.#used.set(key, value as Used)
  }

  /** A code of the device, or a recovery code. */
  async accepts(factor: SecondFactor, code: string): Promise<boolean> {
    const key = keyOf(factor)
    const used = this.#used.get(key) ?? NOTHING
    if (looksLikeCode(code)) {
      const step = stepOfCode(factor.secret, code, this.#clock.now_ms(), used.step)
      if (step === undefined) return false
      await this.#keep(key, { ...used, step })
      return true
    }
    const hash = recoveryHash(code)
    if (!factor.recoveryCodes.some((known) => sameText(known, hash)) || used.codes.includes(hash)) return false
    await this.#keep(key, { ...used, codes: [...used.codes, hash] })
    return true
  }

  recoveryCodesLeft(factor: SecondFactor): number {
    const used = new Set(this.#used.get(keyOf(factor))?.codes)
    return factor.recoveryCodes.filter((hash) => !used.has(hash)).length
  }

  /** In memory first: a second login with the same code, while the first is being written, finds it used. */
  async #keep(key: string, used: Used): Promise<void> {
    this.#used.set(key, used)
    await this.#table.put(key, used)
  }
}

/** Nothing that the secret could be found by. */
const keyOf = ({ secret }: SecondFactor) => createHash('sha256').update(`enrolment ${secret}`).digest('base64url')
