import { createHash, randomBytes } from 'node:crypto'
import { base32 } from './totp.ts'

const COUNT = 10
/** Fifty bits: too many to guess in a lifetime of fifteen-minute lock-outs, and few enough to copy from paper. */
const LETTERS = 10
const BYTES = 7

/** Returns new codes, each in two groups of five letters and digits. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: COUNT }, () => {
    const letters = base32(randomBytes(BYTES)).slice(0, LETTERS)
    return `${letters.slice(0, LETTERS / 2)}-${letters.slice(LETTERS / 2)}`
  })
}

/**
 * Returns the stored form of a code. A code is random, so a plain hash is as good as a slow one. Case, spaces and
 * dashes are ignored.
 */
export function recoveryHash(code: string): string {
  const letters = code.toUpperCase().replaceAll(/[\s-]/g, '')
  return createHash('sha256').update(letters).digest('hex')
}
