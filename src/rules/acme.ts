import { createHash, createPublicKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { isInward } from '../base/inward-address.ts'
import type { AcmeAccount, AcmeOrder, AcmeProgress } from '../model/acme.ts'
import type { Certificate } from '../model/certificates.ts'
import type { ConfigView } from '../model/sections.ts'

const thumbprints = new WeakMap<AcmeAccount, string | undefined>()

/**
 * Returns the thumbprint of the account's key (RFC 7638), which follows each token in the answers of HTTP-01. Undefined
 * if the key cannot be read.
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

/** Returns a digest of what is ordered: the progress of an order with another digest does not apply. */
export function digestOf(order: AcmeOrder, account: AcmeAccount): string {
  const { names, challenge, keyType } = order
  const ordered = [account.directoryUrl, thumbprintOf(account), names, challenge, keyType]
  return createHash('sha256').update(JSON.stringify(ordered)).digest('base64url')
}

/**
 * Returns the progress of exactly this order. If the order was a different one before, its DNS records still need to be
 * removed.
 */
export function progressOf(order: AcmeOrder, account: AcmeAccount): AcmeProgress {
  const of = digestOf(order, account)
  const { progress } = order
  if (progress?.of === of) return progress
  const { answers = [], leftovers = [] } = progress ?? {}
  const left = order.challenge === 'dns-01' ? [...leftovers, ...answers].filter(isOfDns) : []
  return left.length === 0 ? { of } : { of, leftovers: left }
}

const isOfDns = ({ name }: { readonly name: string }): boolean => name.startsWith('_acme-challenge.')

/** Returns the names ordered with one kind of challenge, by the id of the account. */
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

/** Returns when the certificate is renewed: after two thirds of its life. */
export function renewalOf_ms({ facts }: Pick<Certificate, 'facts'>): number {
  const [from, to] = [Date.parse(facts.validFrom), Date.parse(facts.validTo)]
  return from + (to - from) * LIFE_BEFORE_RENEWAL
}

/**
 * Until when the approaching end of a certificate is not reported because an order renews it. Halfway between renewal
 * and end, something must be wrong.
 */
export function quietUntil_ms(view: ConfigView, certificate: Certificate): number | undefined {
  for (const { certificateId } of view.list('acmeOrders')) {
    if (certificateId !== certificate.id) continue
    return (renewalOf_ms(certificate) + Date.parse(certificate.facts.validTo)) / 2
  }
  return undefined
}

/**
 * Returns when the order is worked on next; 0 for now. A clock that was set back must not delay it, and one that was
 * set forward must not cause repeated renewals.
 */
export function nextTry_ms(progress: AcmeProgress, certificate: Certificate, now_ms: number): number {
  const { failures = 0, failedAt_ms = 0, wait_s = 0, issued, issuedAt_ms = 0, orderUrl, asked } = progress
  if (failures > 0) return failedAt_ms > now_ms ? 0 : failedAt_ms + wait_s * 1_000
  if (asked === true || orderUrl !== undefined || issued === undefined) return 0
  // An undo, or a restore of an earlier revision, may bring back what stood in for the first certificate.
  if (certificate.facts.fingerprint !== issued && isSelfSigned(certificate)) return 0
  const renewal_ms = renewalOf_ms(certificate)
  const rest_ms = Date.parse(certificate.facts.validTo) - renewal_ms
  const since_ms = now_ms - issuedAt_ms
  const isFresh = since_ms >= 0 && since_ms < Math.min(DAY_MS, rest_ms)
  return isFresh ? Math.max(renewal_ms, issuedAt_ms + Math.min(DAY_MS, rest_ms)) : renewal_ms
}

function isSelfSigned({ chain }: Certificate): boolean {
  try {
    const certificate = new X509Certificate(chain)
    return certificate.checkIssued(certificate)
  } catch {
    return false
  }
}

/** A large CA allows five failures per host and hour. */
const FIRST_WAIT_S = 300
const WAIT_S_MAX = 86_400
/** The end of a certificate, however near, is no reason to ask more often. */
const NEAR_END_S = 900
/** CAs say "in a week" after too many orders; longer waits are taken for a mistake. */
const RETRY_AFTER_S_MAX = 8 * 86_400

/**
 * Returns the wait before the next attempt, by the number of consecutive failures, the wait that the CA requested, and
 * the time to the end of the certificate, or since it. A CA that comes back before that end must be asked before it.
 */
export function waitAfter_s(failures: number, retryAfter_s = 0, fromEnd_s = Number.POSITIVE_INFINITY): number {
  const most = Math.min(WAIT_S_MAX, Math.max(NEAR_END_S, Math.floor(Math.abs(fromEnd_s) / 2)))
  const own = Math.min(most, FIRST_WAIT_S * 2 ** Math.min(failures - 1, 20))
  return Math.max(own, Math.min(retryAfter_s, RETRY_AFTER_S_MAX))
}

/**
 * Returns why the directory must not be at this address, in words that follow a field. A host name is checked again
 * with each connection, because it may mean another address by then.
 */
export function whyRefused(directoryUrl: string, allowsLoopback: boolean): string | undefined {
  if (!URL.canParse(directoryUrl)) return 'is not a URL'
  const { hostname } = new URL(directoryUrl)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isHere = isIP(host) === 0 ? !allowsLoopback && host === 'localhost' : isInward(host, allowsLoopback)
  return isHere ? `names ${host}, which is not allowed for a CA` : undefined
}

/** Returns why this cannot be the root certificate of a directory, in words that follow a field. */
export function whyNoRoot(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).ca ? undefined : 'is not a certificate of a CA'
  } catch {
    return 'must be a certificate as PEM'
  }
}

/** Returns whether this is the address of a name server in the form that the library accepts, with an optional port. */
export function isNameServer(text: string): boolean {
  const [, bracketed, port = bracketed === undefined ? /^[\d.]+:(\d{1,5})$/.exec(text)?.[1] : undefined] =
    /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text) ?? []
  const address = bracketed ?? (port === undefined ? text : text.slice(0, text.lastIndexOf(':')))
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535)
  return isPort && (bracketed === undefined ? isIP(address) !== 0 : isIP(address) === 6)
}
