import { createHash } from 'node:crypto'
import { HTTPS_PORT } from '../../model/acme.ts'
import type { AcmeAccount } from '../../model/acme.ts'
import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { Folders } from './paths.ts'
import { orderedNames } from '../../rules/acme.ts'
import { inLines, linesOf, quote, type Statement } from './statement.ts'
import { holds, type PortRange, portRanges, withoutPort } from './tls.ts'

/** ALPN protocol of validations by CAs (RFC 8737). */
const PROTOCOL = 'acme-tls/1'
/** Seconds within which a client must send its first message, with its protocols. */
const HELLO_S = 5
/** Validations per second that reach the daemon; connections beyond that are treated as ordinary clients. */
const VALIDATIONS_PER_S = 100
const VALIDATIONS_AT_ONCE = 64
/** Retries of a validation, one per second, while the daemon is starting. */
const PATIENCE = 8
/** The frontend's own timeouts apply: it ends connections as it sees fit. */
const LONGEST = '24d'
const FIN = '30s'

const portOf = ({ tlsPort = HTTPS_PORT }: AcmeAccount): number => tlsPort

/** Whether validations of the CA arrive at this frontend. */
const takesValidations = (frontend: L7Frontend, account: AcmeAccount): boolean =>
  frontend.enabled && portRanges(frontend).some((range) => range.isTls && holds(range, portOf(account)))

/** Returns why TLS-ALPN-01 cannot be answered, in words that follow a field; undefined when it can. */
export function whyUnvalidated(frontends: readonly L7Frontend[], account: AcmeAccount): string | undefined {
  if (frontends.some((frontend) => takesValidations(frontend, account))) return undefined
  const port = portOf(account)
  return `needs an enabled frontend with port ${port} and TLS, which the CA connects to: create one with a certificate, which may be self-signed until then`
}

/** The ports of a frontend at which CAs validate, and the ordered names. */
export interface Validated {
  readonly ports: readonly number[]
  readonly names: readonly string[]
}

export function validatedAt(frontend: L7Frontend, view: ConfigView): Validated {
  const [ports, names] = [new Set<number>(), new Set<string>()]
  for (const [accountId, ordered] of orderedNames(view, 'tls-alpn-01')) {
    const account = view.get('acmeAccounts', accountId)
    if (account === undefined || !takesValidations(frontend, account)) continue
    ports.add(portOf(account))
    for (const name of ordered) names.add(name)
  }
  return { ports: [...ports].toSorted((a, b) => a - b), names: [...names].toSorted() }
}

/**
 * Returns the parts of a range on which the frontend itself listens: on the other ports the protocol is inspected
 * first.
 */
export function ownParts(range: PortRange, { ports }: Validated): readonly PortRange[] {
  return ports.reduce<readonly PortRange[]>((parts, port) => parts.flatMap((part) => withoutPort(part, port)), [range])
}

/**
 * Returns the socket on which a frontend accepts passed connections; undefined if there are none. The name is short
 * because socket paths are limited.
 */
export function passedSocket({ id }: L7Frontend, { ports }: Validated, { sockets }: Folders): string | undefined {
  if (ports.length === 0) return undefined
  return `${sockets}/${createHash('sha256').update(id).digest('base64url').slice(0, 10)}`
}

const beforeName = (id: string): string => `before_${id}`

/** Names of everything in HAProxy that accepts the connections of a frontend, in the order in which they pass. */
export const acceptingNames = (frontend: L7Frontend, view: ConfigView): readonly string[] =>
  validatedAt(frontend, view).ports.length === 0 ? [frontend.id] : [beforeName(frontend.id), frontend.id]

/** The settings that the frontend itself would have at the passed ports. */
interface Passing {
  readonly bind: (port: number) => string
  /** Statements for clients that are named by the PROXY protocol before anything else is read. */
  readonly expecting: readonly string[]
}

/**
 * HAProxy chooses certificates by name, not by protocol. To answer a CA without taking the name from other clients, the
 * first message of each client is inspected before TLS. Validations are passed to the daemon, all others to the
 * frontend, which learns their addresses by the PROXY protocol.
 */
export function passingStatements(
  frontend: L7Frontend,
  validated: Validated,
  folders: Folders,
  { bind, expecting }: Passing,
): readonly Statement[] {
  const socket = passedSocket(frontend, validated, folders)
  if (socket === undefined) return []
  const { id } = frontend
  const line = linesOf('l7Frontends', id)
  const head = (text: string): Statement => ({
    text,
    owner: { section: 'l7Frontends', id, field: undefined },
    kind: 'statement',
  })
  const [passed, answered] = [`passed_${id}`, `validated_${id}`]
  const { ports, names } = validated
  const acls = inLines(names, (some) => `acl is_ordered req.ssl_sni,lower -m str -- ${some}`)
  const few = `{ be_sess_rate(${answered}) lt ${VALIDATIONS_PER_S} }`
  return [
    head(`frontend ${beforeName(id)}`),
    line('mode tcp'),
    ...ports.map((port) => line(bind(port), 'ports')),
    ...expecting.map((text) => line(text, 'proxyProtocol')),
    line(`timeout tunnel ${LONGEST}`),
    line(`timeout client-fin ${FIN}`),
    line(`timeout server-fin ${FIN}`),
    line(`tcp-request inspect-delay ${HELLO_S}s`),
    line('tcp-request content accept if { req.ssl_hello_type 1 }'),
    ...acls.map((text) => line(text)),
    line(`use_backend ${answered} if { req.ssl_alpn ${PROTOCOL} } is_ordered ${few}`),
    line(`default_backend ${passed}`),
    head(`backend ${passed}`),
    line('mode tcp'),
    line(`timeout tunnel ${LONGEST}`),
    line(`timeout server-fin ${FIN}`),
    line(`server frontend unix@${quote(socket)} send-proxy-v2`),
    head(`backend ${answered}`),
    line('mode tcp'),
    line('timeout server 10s'),
    line(`retries ${PATIENCE}`),
    line(`server daemon unix@${quote(folders.challenges)} maxconn ${VALIDATIONS_AT_ONCE}`),
  ]
}
