import { type FieldProblem, problemIn } from '../base/errors.ts'
import { MASK, unstored } from '../base/mask.ts'
import { type AlertTarget, TARGET_SECRETS } from '../model/alerts.ts'

type SecretField = (typeof TARGET_SECRETS)[number]

type Fields = Omit<AlertTarget, 'id'>
/** The fields of a change: null clears, and absent fields keep their value. */
export type SentTarget = { readonly [F in keyof Fields]?: Fields[F] | null }

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '')
/** Masks a URL for answers: in chat systems the part after the host is a secret that allows posting. */
const shownUrl = (url: string): string => `${originOf(url)}/${MASK}`

/** Returns the destination for which the secrets of a target were entered. */
const placeOf = ({ host = '', port, url }: Partial<Fields>): string =>
  url === undefined ? `${host.toLowerCase()} ${port ?? ''}` : originOf(url)

/** Returns the target as answers show it. */
export function shownTarget(target: AlertTarget): AlertTarget {
  const { url, headers, ...fields } = target
  const secrets = TARGET_SECRETS.flatMap((field) => (fields[field] === undefined ? [] : [[field, MASK] as const]))
  return {
    ...fields,
    ...Object.fromEntries(secrets),
    ...(url === undefined ? {} : { url: shownUrl(url) }),
    ...(headers === undefined ? {} : { headers: headers.map(({ name }) => ({ name, value: MASK })) }),
  }
}

/**
 * Returns a target after a change. Secrets that are not sent are kept only if the destination stays: a user who may
 * change a target must not be able to redirect its secrets.
 */
export function mergedTarget(sent: SentTarget, stored: Fields | undefined) {
  const problems: FieldProblem[] = []
  if (stored !== undefined && sent.type !== undefined && sent.type !== stored.type)
    problems.push(problemIn('type', `is ${stored.type} and cannot be changed: create another target`))
  const url = urlFrom(sent.url, stored, problems)
  const cleared = Object.entries({ ...stored, ...sent, url }).filter(
    ([field, value]) => value !== null && value !== undefined && !isSecret(field) && field !== 'headers',
  )
  // Sound: fields that null can clear are optional, and the schema of the body has checked each value.
  const plain = Object.fromEntries(cleared) as Fields
  const hasMoved = stored !== undefined && placeOf(plain) !== placeOf(stored)
  const secrets = secretsFrom(sent, stored, hasMoved, problems)
  const headers = headersFrom(sent.headers, stored?.headers, hasMoved, problems)
  return { target: { ...plain, ...secrets, ...(headers === undefined ? {} : { headers }) }, problems }
}

const MOVED = 'was given for another destination: send it again for this one, or clear it with null'
const isSecret = (field: string): boolean => TARGET_SECRETS.some((one) => one === field)

function secretsFrom(sent: SentTarget, stored: Fields | undefined, hasMoved: boolean, problems: FieldProblem[]) {
  const secrets: Partial<Record<SecretField, string>> = {}
  for (const field of TARGET_SECRETS) {
    const [wanted, kept] = [sent[field], stored?.[field]]
    if (wanted === null || wanted === '') continue
    if (wanted !== undefined && wanted !== MASK) secrets[field] = wanted
    else if (kept === undefined) problems.push(...(wanted === MASK ? [unstored(field)] : []))
    else if (hasMoved) problems.push(problemIn(field, MOVED))
    else secrets[field] = kept
  }
  return secrets
}

/** A URL that is sent as it was read keeps its stored value. */
function urlFrom(sent: SentTarget['url'], stored: Fields | undefined, problems: FieldProblem[]) {
  if (sent === undefined || sent === null) return sent === null ? undefined : stored?.url
  if (stored?.url !== undefined && sent === shownUrl(stored.url)) return stored.url
  if (sent.endsWith(`/${MASK}`)) problems.push(unstored('url'))
  return sent
}

function headersFrom(
  sent: SentTarget['headers'],
  stored: Fields['headers'],
  hasMoved: boolean,
  problems: FieldProblem[],
): Fields['headers'] {
  if (sent === null) return undefined
  if (sent === undefined) {
    if (stored !== undefined && hasMoved) problems.push(problemIn('headers', MOVED))
    return stored
  }
  return sent.map(({ name, value }, at) => {
    if (value !== MASK) return { name, value }
    const kept = stored?.find((one) => one.name.toLowerCase() === name.toLowerCase())
    if (kept === undefined) problems.push(unstored(`headers.${at}.value`))
    else if (hasMoved) problems.push(problemIn(`headers.${at}.value`, MOVED))
    return { name, value: kept?.value ?? '' }
  })
}
