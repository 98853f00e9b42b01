import { type AlertTarget, TARGET_SECRETS } from '../../src/model/alerts.ts'

/** What is as good as anything in its place: a shorter piece of a URL is a word like any other. */
const PIECE_MIN = 8

const isLong = ({ length }: string): boolean => length >= PIECE_MIN
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/**
 * What servers may say again of what they were given, in the forms in which they were: a page about an error names the
 * path that was asked for, and of chat systems that is the secret.
 */
export function secretsOf({ headers = [], url, username = '', ...target }: AlertTarget): readonly string[] {
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
