import { createHash, createPublicKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { isInward } from '../base/inward-address.ts'
import type { AcmeAccount, AcmeOrder, AcmeProgress } from '../model/acme.ts'
import type { Certificate } from '../model/certificates.ts'
import type { ConfigView } from '../model/sections.ts'

const thumbprints = new WeakMap<AcmeAccount, string | undefined>()

/**
 * Thumbprint of the account's key (RFC 7638): what HTTP-01 answers after each token. Undefined for a key that cannot be
 * read.
 */
export function thumbprintOf(account: AcmeAccount): string | undefined {
  if (!thumbprints.has(account)) thumbprints.set(account, thumbprint(account.privateKey))
  return thumbprints.get(account)
}

function thumbprint(privateKey: string): string | undefined {
  try {
    const { crv, e, kty, n, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
    const members = kty === 'RSA' ? { e, kty, n } : { crv, kty, x, y }
    return createHash('sha256').update(JSON.stringify(members)).digest('base64url')
  } catch {
    return undefined
  }
}

/** What is ordered, as a digest: of another order, what is known of this one says nothing. */
export function digestOf(order: AcmeOrder, account: AcmeAccount): string {
  const { names, challenge, keyType } = order
  const ordered = [account.directoryUrl, thumbprintOf(account), names, challenge, keyType]
  return createHash('sha256').update(JSON.stringify(ordered)).digest('base64url')
}

/** How far this very order is. Of another one that it was before, records of DNS are still to be removed. */
export function progressOf(order: AcmeOrder, account: AcmeAccount): AcmeProgress {
  const of = digestOf(order, account)
  const { progress } = order
  if (progress?.of === of) return progress
  const { answers = [], leftovers = [] } = progress ?? {}
  const left = order.challenge === 'dns-01' ? [...leftovers, ...answers].filter(isOfDns) : []
  return left.length === 0 ? { of } : { of, leftovers: left }
}

const isOfDns = ({ name }: { readonly name: string }): boolean => name.startsWith('_acme-challenge.')

/** What is ordered with one kind of challenge, by the id of the account. */
export function orderedNames(
  view: ConfigView,
  challenge: AcmeOrder['challenge'],
): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>()
  for (const order of view.list('acmeOrders')) {
    if (order.challenge !== challenge) continue
    const known = names.get(order.accountId) ?? new Set()
    for (const name of order.names) known.add(name)
    names.set(order.accountId, known)
  }
  return names
}

const LIFE_BEFORE_RENEWAL = 2 / 3
const DAY_MS = 86_400_000

/** When it is renewed: at two thirds of its life. */
export function renewalOf_ms({ facts }: Pick<Certificate, 'facts'>): number {
  const [from, to] = [Date.parse(facts.validFrom), Date.parse(facts.validTo)]
  return from + (to - from) * LIFE_BEFORE_RENEWAL
}

/**
 * Until when the end of a certificate need not be reported, because an order renews it. Halfway from there to its end
 * something is wrong, whatever it is.
 */
export function quietUntil_ms(view: ConfigView, certificate: Certificate): number | undefined {
  for (const { certificateId } of view.list('acmeOrders')) {
    if (certificateId !== certificate.id) continue
    return (renewalOf_ms(certificate) + Date.parse(certificate.facts.validTo)) / 2
  }
  return undefined
}

/**
 * When the order is worked on next. 0 is now. A clock that was set back must not hold it up, nor one that was set
 * forward have a certificate renewed again and again.
 */
export function nextTry_ms(progress: AcmeProgress, certificate: Certificate, now_ms: number): number {
  const { failures = 0, failedAt_ms = 0, wait_s = 0, issued, issuedAt_ms = 0, orderUrl, asked } = progress
  if (failures > 0) return failedAt_ms > now_ms ? 0 : failedAt_ms + wait_s * 1_000
  if (asked === true || orderUrl !== undefined || issued === undefined) return 0
  const renewal_ms = renewalOf_ms(certificate)
  const rest_ms = Date.parse(certificate.facts.validTo) - renewal_ms
  const since_ms = now_ms - issuedAt_ms
  const isFresh = since_ms >= 0 && since_ms < Math.min(DAY_MS, rest_ms)
  return isFresh ? Math.max(renewal_ms, issuedAt_ms + Math.min(DAY_MS, rest_ms)) : renewal_ms
}

/** Five a host and hour are what a large CA takes of failures. */
const FIRST_WAIT_S = 300
const WAIT_S_MAX = 86_400
/** CAs say "in a week" after too many orders; more than that is a mistake. */
const RETRY_AFTER_S_MAX = 8 * 86_400

/** How long after so many failures in a row, and what the CA said, it is tried again. */
export function waitAfter_s(failures: number, retryAfter_s = 0): number {
  const own = Math.min(WAIT_S_MAX, FIRST_WAIT_S * 2 ** Math.min(failures - 1, 20))
  return Math.max(own, Math.min(retryAfter_s, RETRY_AFTER_S_MAX))
}

/**
 * Why a directory must not be there, in words that follow a field. A name is looked at again with each connection: it
 * may mean another address by then.
 */
export function whyRefused(directoryUrl: string, allowsLoopback: boolean): string | undefined {
  if (!URL.canParse(directoryUrl)) return 'is no URL'
  const { hostname } = new URL(directoryUrl)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isHere = isIP(host) === 0 ? !allowsLoopback && host === 'localhost' : isInward(host, allowsLoopback)
  return isHere ? `names ${host}, where no CA may be` : undefined
}

/** Why that is no root to know a directory by, in the same words. */
export function whyNoRoot(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).ca ? undefined : 'is no certificate of a CA'
  } catch {
    return 'must be a certificate as PEM'
  }
}

/** Whether this is an address of a name server as the library takes it, perhaps with a port. */
export function isNameServer(text: string): boolean {
  const [, bracketed, port = bracketed === undefined ? /^[\d.]+:(\d{1,5})$/.exec(text)?.[1] : undefined] =
    /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text) ?? []
  const address = bracketed ?? (port === undefined ? text : text.slice(0, text.lastIndexOf(':')))
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535)
  return isPort && (bracketed === undefined ? isIP(address) !== 0 : isIP(address) === 6)
}
