import { createHash, randomBytes } from 'node:crypto'
import { base32 } from './totp.ts'

const COUNT = 10
/** Fifty bits: nobody guesses one in a lifetime of fifteen-minute lock-outs, and people can copy it from paper. */
const LETTERS = 10
const BYTES = 7

/** New codes, each in two groups of five letters and digits. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: COUNT }, () => {
    const letters = base32(randomBytes(BYTES)).slice(0, LETTERS)
    return `${letters.slice(0, LETTERS / 2)}-${letters.slice(LETTERS / 2)}`
  })
}

/** How a code is kept. It is random, so a plain hash is as good as a slow one. Case, spaces and dashes do not count. */
export function recoveryHash(code: string): string {
  const letters = code.toUpperCase().replaceAll(/[\s-]/g, '')
  return createHash('sha256').update(letters).digest('hex')
}
