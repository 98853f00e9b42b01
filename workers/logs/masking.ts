/**
 * Clients' secrets are masked before a line is stored or forwarded: a reader of logs must not be able to log in as
 * another user.
 */

export const MASK = '**'

/** Words that make a name secret wherever they occur in it. */
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

/**
 * Whether the name contains a secret word, as in `X-Api-Key`, `apiKey` and `api_key`, also when it is percent-encoded.
 */
export function isSecretName(name: string): boolean {
  const plain = decoded(name)
  const words = plain.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  return SECRET_PARTS.test(plain.toLowerCase()) || words.split(/[^a-z0-9]+/).some((word) => SECRET_WORDS.has(word))
}

/** Decodes percent escapes; broken ones stay as they are. */
const decoded = (name: string) =>
  name.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))

/** Names of parameters, before and after the question mark, and inside the values of others. */
const NAME = /[?&;#]([^=&;#?/]*)=/g
const VALUE = /[^&;#]*/y
/** A value that is encoded more often is masked unread, because each level costs another pass over it. */
const ENCODED_MAX = 3

/**
 * Masks a path with its query, or any text that may hold a URL, also in the value of a parameter. Each value is read
 * once.
 */
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
