import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { logStatements } from './access-log.ts'
import { challengeStatements } from './acme.ts'
import { canonicalIp, isIpv6 } from './address.ts'
import { answerLines } from './answers.ts'
import { isResting } from '../resting.ts'
import { frontendRules } from './l7-rules.ts'
import type { Folders } from './paths.ts'
import { rawOfProxy } from './raw.ts'
import {
  commentText,
  endpointText,
  inLines,
  type Line,
  linesOf,
  type Owner,
  quote,
  type Statement,
  textOf,
} from './statement.ts'
import { httpsStatements, type PortRange, portRanges, quicOptions, tlsOptions } from './tls.ts'
import { ownParts, passedSocket, passingStatements, type Validated, validatedAt } from './tls-alpn.ts'

/** Maximum time for the headers of a request, so that slow senders cannot hold connections open. */
const REQUEST_HEADERS_S = 10

/**
 * A disabled frontend is left out: its ports are free for others, and enabling it needs a reload like any new frontend.
 */
export function frontendStatements(frontend: L7Frontend, view: ConfigView, folders: Folders): readonly Statement[] {
  const owned = (field: string | undefined): Owner => ({ section: 'l7Frontends', id: frontend.id, field })
  if (!frontend.enabled || isResting(frontend, view)) {
    const state = frontend.enabled ? 'rests: its floating IP is disabled' : 'is disabled'
    const text = `# frontend ${frontend.id} (${commentText(frontend.name)}) ${state}`
    return [{ text, owner: owned(undefined), kind: 'comment' }]
  }
  const line = linesOf('l7Frontends', frontend.id)
  const validated = validatedAt(frontend, view)
  const lines = [
    ...binds(frontend, view, folders, validated).map((bind): Line => [bind, 'ports']),
    ...connectionLines(frontend),
    ...(frontend.mode === 'http' ? waitingLines(frontend) : []),
  ]
  const answers = [...(frontend.mode === 'http' ? httpLines(frontend) : []), ...answerLines(frontend, 'frontend')]
  return [
    { text: `# ${commentText(frontend.name)}`, owner: owned('name'), kind: 'comment' },
    { text: `frontend ${frontend.id}`, owner: owned(undefined), kind: 'statement' },
    line(`mode ${frontend.mode}`, 'mode'),
    ...lines.map(([text, field]) => line(text, field)),
    ...logStatements(frontend).map((text) => line(text, 'logs')),
    // Before any rule that could redirect or refuse the CA's request.
    ...(frontend.mode === 'http' ? challengeStatements(frontend, view) : []),
    ...answers.map(([text, field]) => line(text, field)),
    ...rawOfProxy(view, 'frontends', frontend.id),
    ...[...frontendRules(frontend, view, folders.maps), ...defaultLines(frontend, view)].map(([text, field]) =>
      line(text, field),
    ),
    ...passingStatements(frontend, validated, folders, passingOf(frontend)),
  ]
}

function connectionLines(frontend: L7Frontend): readonly Line[] {
  const { timeoutClient, timeouts: { clientFin } = {}, maxConn } = frontend
  const lines: Line[] = [[`timeout client ${timeoutClient}s`, 'timeoutClient']]
  for (const text of expectedProxies(frontend)) lines.push([text, 'proxyProtocol'])
  if (clientFin !== undefined) lines.push([`timeout client-fin ${clientFin}s`, 'timeouts.clientFin'])
  if (maxConn !== null) lines.push([`maxconn ${maxConn}`, 'maxConn'])
  return lines
}

function waitingLines({ timeoutClient, timeouts = {} }: L7Frontend): readonly Line[] {
  const { httpRequest = Math.min(REQUEST_HEADERS_S, timeoutClient), httpKeepAlive = timeoutClient } = timeouts
  return [
    [`timeout http-request ${httpRequest}s`, 'timeouts.httpRequest'],
    // Otherwise HAProxy would apply the timeout for headers to idle keep-alive connections.
    [`timeout http-keep-alive ${httpKeepAlive}s`, 'timeouts.httpKeepAlive'],
  ]
}

function httpLines(frontend: L7Frontend): readonly Line[] {
  const lines: Line[] = frontend.forwardFor ? [['option forwardfor', 'forwardFor']] : []
  const { compression } = frontend
  if (compression?.enabled === true)
    for (const text of compressionLines(compression.types)) lines.push([text, 'compression'])
  return [...lines, ...httpsStatements(frontend)]
}

/** Without a default backend HAProxy answers 503 (http) or closes (tcp), which is what a disabled backend means. */
function defaultLines({ defaultBackendId }: L7Frontend, view: ConfigView): readonly Line[] {
  const backend = defaultBackendId === null ? undefined : view.get('l7Backends', defaultBackendId)
  return backend?.enabled === true ? [[`default_backend ${backend.id}`, 'defaultBackendId']] : []
}

/** Without this keyword, connections are accepted without a PROXY header. */
function expectedProxies({ proxyProtocol }: L7Frontend): readonly string[] {
  const from = Array.isArray(proxyProtocol) ? proxyProtocol : []
  return inLines(from, (some) => `tcp-request connection expect-proxy layer4 if { src ${some} }`)
}

/** Common content types of web sites that are not compressed already. */
const COMPRESSED = [
  'text/html',
  'text/plain',
  'text/css',
  'text/javascript',
  'application/javascript',
  'application/json',
  'application/xml',
  'image/svg+xml',
] as const

const compressionLines = (types: readonly string[] = COMPRESSED) => [
  'compression algo gzip',
  `compression type ${types.join(' ')}`,
]

/** `::` stands for IPv6 only, so that `0.0.0.0` can have the same port. */
const onlyOf = ({ ip }: L7Frontend): string => (canonicalIp(ip) === '::' ? ' v6only' : '')

/** Returns the part of a bind line before its TLS options. */
function placeOf(frontend: L7Frontend, ports: number | string): string {
  const proxy = frontend.proxyProtocol === true ? ' accept-proxy' : ''
  return `${endpointText(frontend.ip, null)}:${ports}${onlyOf(frontend)}${proxy}`
}

const portsText = ({ first, last }: PortRange): string => (first === last ? String(first) : `${first}-${last}`)

/** One bind line for each port or range, and one for connections that are inspected first. */
function binds(frontend: L7Frontend, view: ConfigView, folders: Folders, validated: Validated): readonly string[] {
  const { certificates: folder, account } = folders
  const quic = isIpv6(frontend.ip) ? 'quic6' : 'quic4'
  const quicPlace = (range: PortRange) =>
    `${quic}@${endpointText(frontend.ip, null)}:${portsText(range)}${onlyOf(frontend)}`
  const passed = passedSocket(frontend, validated, folders)
  const owner = account === undefined ? '' : ` user ${account}`
  const own = portRanges(frontend).flatMap((range) => {
    if (!range.isTls) return [`bind ${placeOf(frontend, portsText(range))}`]
    const parts = ownParts(range, validated).map(
      (part) => `bind ${placeOf(frontend, portsText(part))}${tlsOptions(frontend, view, folder)}`,
    )
    return frontend.http3 === true
      ? [...parts, `bind ${quicPlace(range)}${quicOptions(frontend, view, folder)}`]
      : parts
  })
  if (passed === undefined) return own
  return [...own, `bind unix@${quote(passed)}${owner} mode 600 accept-proxy${tlsOptions(frontend, view, folder)}`]
}

const passingOf = (frontend: L7Frontend) => ({
  bind: (port: number) => `bind ${placeOf(frontend, port)}`,
  expecting: expectedProxies(frontend),
})

const NO_FOLDERS: Folders = { certificates: '', maps: '', sockets: '', challenges: '', account: undefined }

/** The statements of a frontend for validations by CAs. */
export function challengeSyntax(frontend: L7Frontend, view: ConfigView): string {
  const passing = passingStatements(frontend, validatedAt(frontend, view), NO_FOLDERS, passingOf(frontend))
  return textOf([...(frontend.mode === 'http' ? challengeStatements(frontend, view) : []), ...passing])
}

/** Returns everything whose change needs a reload, independent of file locations and of the contents of maps. */
export function frontendSyntax(frontend: L7Frontend, view: ConfigView): string {
  const statements = frontendStatements(frontend, view, NO_FOLDERS).filter(({ kind }) => kind !== 'comment')
  // The order of certificates and the client authorities are in separate files.
  const { certificates = [], clientCa = '' } = frontend
  return statements.length === 0 ? '' : `${textOf(statements)}${certificates.join(' ')}\n${clientCa}`
}
