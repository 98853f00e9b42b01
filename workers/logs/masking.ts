/**
 * Secrets of clients are masked before a line is kept anywhere: a reader of logs must not be able to log in as somebody
 * else.
 */

export const MASK = '**'

/** Words of names whose values are secrets, wherever they stand in the name. */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  'auth',
  'authorization',
  'code',
  'cookie',
  'credential',
  'credentials',
  'jwt',
  'key',
  'nonce',
  'otp',
  'pass',
  'passcode',
  'passphrase',
  'pin',
  'pwd',
  'samlresponse',
  'session',
  'sessionid',
  'sid',
  'sig',
  'ticket',
])
const SECRET_PARTS = /token|passw|secret|signature|apikey|sessid|jsessionid/

/** `X-Api-Key`, `apiKey` and `api_key` are words; so is what was encoded to hide it. */
export function isSecretName(name: string): boolean {
  const plain = decoded(name)
  const words = plain.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  return SECRET_PARTS.test(plain.toLowerCase()) || words.split(/[^a-z0-9]+/).some((word) => SECRET_WORDS.has(word))
}

/** A broken escape leaves the rest readable. */
const decoded = (name: string) =>
  name.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))

/** Names of parameters, before and behind the question mark; also those in the value of another one. */
const NAME = /[?&;#]([^=&;#?/]*)=/g
const VALUE = /[^&;#]*/y
/** What was encoded more often is masked unread: each time costs another look at all of it. */
const ENCODED_MAX = 3

/** A path with its query, or any text that may hold a URL; so may the value of a parameter. Each value is read once. */
export function maskParameters(text: string): string {
  if (!text.includes('=')) return text
  let [masked, from, readUntil] = ['', 0, 0]
  for (const { 0: whole, 1: name = '', index } of text.matchAll(NAME)) {
    const start = index + whole.length
    const isSecret = isSecretName(name)
    if (index < from || (!isSecret && start < readUntil)) continue
    VALUE.lastIndex = start
    const [value = ''] = VALUE.exec(text) ?? []
    readUntil = start + value.length
    if (!isSecret && !hidesSecret(value)) continue
    masked += `${text.slice(from, start)}${MASK}`
    from = readUntil
  }
  return masked + text.slice(from)
}

function hidesSecret(value: string): boolean {
  let [plain, before] = [decoded(value), value]
  if (plain === before) return false
  for (let times = 1; plain !== before; times++) {
    if (times > ENCODED_MAX) return true
    before = plain
    plain = decoded(plain)
  }
  return maskParameters(plain) !== plain
}

/** The name and password of `https://name:password@host/`. */
const USER_INFO = /(\/\/)[^/@\s]*@/g

export function maskHeader(name: string, value: string): string {
  return isSecretName(name) ? MASK : maskParameters(value.replaceAll(USER_INFO, `$1${MASK}@`))
}
