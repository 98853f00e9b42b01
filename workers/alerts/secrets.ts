import { withoutSecrets } from '../../src/base/mask.ts'
import { type AlertTarget, TARGET_SECRETS } from '../../src/model/alerts.ts'

/** What is as good as anything in its place: a shorter piece of a URL is a word like any other. */
const PIECE_MIN = 8

const isLong = ({ length }: string): boolean => length >= PIECE_MIN
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const REASON_MAX = 500

/** What a server or library says, as it may stand in logs and answers: shortened last, or half a secret would stay. */
export const shownReason = (said: string, target: AlertTarget): string =>
  withoutSecrets(said, secretsOf(target))
    // oxlint-disable-next-line no-control-regex -- they are what is taken out
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .slice(0, REASON_MAX)

/**
 * What servers may say again of what they were given, in the forms in which they were: a page about an error names the
 * path that was asked for, and of chat systems that is the secret.
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
