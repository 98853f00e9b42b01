import { createHmac, randomBytes } from 'node:crypto'
import { sameText } from '../base/same-text.ts'

/** RFC 6238 with the parameters that every authenticator app supports: SHA-1, six digits, thirty seconds. */
const STEP_S = 30
const DIGITS = 6
/** Steps before and after now whose codes are accepted: phone clocks differ, and people are slow (RFC 6238 §5.2). */
const DRIFT_STEPS = 1
/** RFC 4226 §4 asks for 128 bits and recommends 160. */
const SECRET_BYTES = 20
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns a new secret in base32. */
export function newSecret(): string {
  return base32(randomBytes(SECRET_BYTES))
}

/** Returns the URI for a QR code or a link, in the form that every authenticator app reads. */
export function otpauthUri(secret: string, account: string, issuer: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_S}`
}

export const looksLikeCode = (text: string): boolean => /^\d{6}$/.test(text)

/**
 * Returns the step of this code, or undefined. Steps up to `lastStep` are refused, because their codes may have been
 * used: a code that somebody saw being typed is worthless.
 */
export function stepOfCode(secret: string, code: string, now_ms: number, lastStep: number): number | undefined {
  const now = Math.floor(now_ms / 1000 / STEP_S)
  let found: number | undefined
  // All are compared, so that the time does not reveal which one matched.
  for (let step = now - DRIFT_STEPS; step <= now + DRIFT_STEPS; step += 1) {
    if (sameText(hotp(secret, step), code) && step > lastStep) found ??= step
  }
  return found
}

/** RFC 4226 §5.3. */
export function hotp(secret: string, counter: number, digits = DIGITS): string {
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(Math.max(0, counter)))
  const mac = createHmac('sha1', fromBase32(secret)).update(message).digest()
  const offset = (mac.at(-1) ?? 0) & 0x0f
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/** RFC 4648 §6, without padding. */
export function base32(bytes: Uint8Array): string {
  let [text, value, bits] = ['', 0, 0]
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(value >> bits) & 31]
    }
  }
  return bits === 0 ? text : text + ALPHABET[(value << (5 - bits)) & 31]
}

function fromBase32(text: string): Buffer {
  const bytes: number[] = []
  let [value, bits] = [0, 0]
  for (const letter of text) {
    value = ((value << 5) | ALPHABET.indexOf(letter)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((value >> bits) & 0xff)
  }
  return Buffer.from(bytes)
}
