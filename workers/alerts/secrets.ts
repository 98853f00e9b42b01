import { cutText } from '../../src/base/cut-text.ts'
import { withoutSecrets } from '../../src/base/mask.ts'
import { type AlertTarget, TARGET_SECRETS } from '../../src/model/alerts.ts'

/** Shorter pieces of a URL are ordinary words, which must not be masked wherever they occur. */
const PIECE_MIN = 8

const isLong = ({ length }: string): boolean => length >= PIECE_MIN
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const REASON_MAX = 500

/**
 * Makes the words of a server or library fit for logs and answers: cut after masking, or half a secret would remain.
 */
export const shownReason = (said: string, target: AlertTarget): string =>
  cutText(
    // oxlint-disable-next-line no-control-regex -- they are what is taken out
    withoutSecrets(said, secretsOf(target)).replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' '),
    REASON_MAX,
  )

/**
 * Returns the secrets that a server may repeat, in the forms in which it received them. An error page quotes the
 * requested path, for example, which is the secret of a chat webhook.
 */
function secretsOf({ headers = [], url, username = '', ...target }: AlertTarget): readonly string[] {
  const own = TARGET_SECRETS.flatMap((field) => target[field] ?? [])
  const { password } = target
  return [
    ...own,
    ...headers.flatMap(({ value }) => [value, ...value.split(' ').filter(isLong)]),
    ...(password === undefined ? [] : [base64(password), base64(`\0${username}\0${password}`)]),
    ...(url === undefined || !URL.canParse(url) ? [] : piecesOf(new URL(url))),
  ]
}

function piecesOf({ pathname, search, username, password }: URL): readonly string[] {
  const whole = `${pathname}${search}`
  const pieces = whole.split(/[/?&=]/).flatMap((piece) => [piece, decoded(piece)])
  const long = [username, password, ...pieces].filter(isLong)
  return whole === '/' ? long : [whole, ...long]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
