import { whyUnanswered } from '../drivers/haproxy/acme.ts'
import type { AcmeOrder } from '../model/acme.ts'
import { progressOf, quietUntil_ms } from '../rules/acme.ts'
import { endOf } from '../rules/certificate-end.ts'
import { inTurns } from '../base/turns.ts'
import { missingOf, type SnmpUser } from '../model/snmp.ts'
import type { ConfigView, RecordChange } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import { about } from './about.ts'
import { layer4ServersLeft, layer7ServersLeft, weights } from './balancing.ts'
import { clientAuthorities } from './client-authorities.ts'
import { connectionsEnd } from './floating.ts'
import { believesAnybody, plainCookies, rests, withoutEffect } from './frontends.ts'
import { idleOfBackend, idleOfFrontend } from './idle-fields.ts'
import { rulesWithoutEffect } from './rules.ts'
import { unreachedCertificates } from './shown-certificates.ts'

const EXPIRES_MS = 30 * 86_400_000

function expiring(view: ConfigView, now_ms: number): readonly Warning[] {
  const used = new Set<string>()
  for (const { enabled, certificates = [] } of view.list('l7Frontends')) {
    if (enabled) for (const id of certificates) used.add(id)
  }
  for (const { SSLCertificate } of view.list('userInterfaces')) used.add(SSLCertificate)
  for (const { certificateId } of view.list('syslogServers')) used.add(certificateId)
  for (const { certificateId = '' } of view.list('alertTargets')) used.add(certificateId)
  return [...used].flatMap((id) => {
    const certificate = view.get('certificates', id)
    if (certificate === undefined) return []
    const end = endOf(certificate)
    if (!(end.getTime() - now_ms < EXPIRES_MS)) return []
    if (now_ms < (quietUntil_ms(view, certificate) ?? 0)) return []
    const isOwn = end.getTime() === Date.parse(certificate.facts.validTo)
    const says = `${isOwn ? '' : 'is sent with an issuer that '}${end.getTime() < now_ms ? 'has expired' : 'expires'}`
    return [about('CERTIFICATE_EXPIRES', 'certificates', certificate, `${says} at ${end.toISOString()}: replace it`)]
  })
}

function incomplete({ id, username, ...user }: SnmpUser): readonly Warning[] {
  const missing = missingOf(user).join(' and ')
  if (missing === '') return []
  const says = `lacks ${missing}, so the agent does not know it`
  return [about('SNMP_USER_INCOMPLETE', 'snmpUsers', { id, name: username }, says)]
}

const FAILS_AT = 3

function unrenewed(order: AcmeOrder, view: ConfigView): readonly Warning[] {
  const account = view.get('acmeAccounts', order.accountId)
  if (account === undefined) return []
  const { failures = 0, lastError = '' } = progressOf(order, account)
  const unanswered = whyUnanswered(view, account, order)
  return [
    ...(failures < FAILS_AT
      ? []
      : [about('RENEWAL_FAILS', 'acmeOrders', order, `has failed ${failures} times: ${lastError}`)]),
    ...(unanswered === undefined ? [] : [about('CHALLENGE_UNANSWERED', 'acmeOrders', order, unanswered)]),
  ]
}

/** Yields the warnings about one record after the other. */
function* judged(view: ConfigView, now_ms: number): Generator<readonly Warning[]> {
  for (const frontend of view.list('l7Frontends')) {
    yield [
      ...layer7ServersLeft(frontend, view),
      ...withoutEffect(frontend),
      ...rulesWithoutEffect(frontend),
      ...idleOfFrontend(frontend),
      ...unreachedCertificates(frontend, view),
      ...clientAuthorities(frontend, now_ms),
      ...believesAnybody(frontend),
      ...plainCookies(frontend, view),
      ...rests('l7Frontends', frontend, view),
    ]
  }
  for (const frontend of view.list('l4Frontends')) {
    yield [...layer4ServersLeft(frontend, view), ...rests('l4Frontends', frontend, view)]
  }
  for (const backend of view.list('l7Backends')) {
    yield [...weights('l7Backends', backend, view), ...idleOfBackend('l7Backends', backend)]
  }
  for (const backend of view.list('l4Backends')) {
    yield [...weights('l4Backends', backend, view), ...idleOfBackend('l4Backends', backend)]
  }
  for (const user of view.list('snmpUsers')) yield incomplete(user)
  for (const order of view.list('acmeOrders')) yield unrenewed(order, view)
  yield connectionsEnd(view)
}

async function all(view: ConfigView, now_ms: number): Promise<readonly Warning[]> {
  const found: Warning[] = []
  await inTurns(judged(view, now_ms), (warnings) => found.push(...warnings))
  return [...found, ...expiring(view, now_ms)]
}

const keyOf = ({ code, resource, resourceId }: Warning) => `${code} ${resource} ${resourceId}`

/**
 * Returns the warnings that the changes bring about. Warnings that hold already are not repeated for records that the
 * changes do not touch.
 */
export async function warningsOf(
  running: ConfigView,
  desired: ConfigView,
  changes: readonly Pick<RecordChange, 'section' | 'id'>[],
  now_ms: number,
): Promise<readonly Warning[]> {
  if (changes.length === 0) return []
  const found = await all(desired, now_ms)
  if (found.length === 0) return found
  const known = new Set((await all(running, now_ms)).map(keyOf))
  const touched = new Set(changes.map(({ section, id }) => `${section} ${id}`))
  return found.filter((one) => !known.has(keyOf(one)) || touched.has(`${one.resource} ${one.resourceId}`))
}
