import { X509Certificate } from 'node:crypto'
import { type FieldProblem, problemIn } from '../base/errors.ts'
import { parseNetwork } from '../base/ip-network.ts'
import type { L7Backend, L7Frontend } from '../model/layer7.ts'
import { type ErrorPage, type Maintenance, PAGE_BYTES_MAX } from '../model/l7-settings.ts'

/** The answers of HAProxy itself, and how it handles connections. */

const HTTP_ONLY = 'needs mode http'

/** Returns the fault of a text that HAProxy sends; undefined if it fits into HAProxy's buffer. */
export function pageFault(page: string | undefined): string | undefined {
  const bytes = Buffer.byteLength(page ?? '')
  if (bytes <= PAGE_BYTES_MAX) return undefined
  return `has ${bytes} bytes in UTF-8, but HAProxy can send at most ${PAGE_BYTES_MAX}`
}

const pageProblems = (field: string, page: string | undefined): readonly FieldProblem[] => {
  const fault = pageFault(page)
  return fault === undefined ? [] : [problemIn(field, fault)]
}

/** Statuses without a body: a body would be read as the next response (RFC 9110, sections 15.3.5 and .6). */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

export const bodilessFault = (status: number): string | undefined =>
  BODILESS.has(status) ? `${status} has no body: choose another status` : undefined

interface Answering {
  readonly mode: 'http' | 'tcp'
  readonly errorPages?: readonly ErrorPage[]
  readonly maintenance?: Maintenance
}

/** Problems that frontends and backends have in common. */
export function answerProblems({ mode, errorPages = [], maintenance }: Answering): readonly FieldProblem[] {
  if (mode === 'tcp') {
    const sent = {
      errorPages: errorPages[0],
      'maintenance.status': maintenance?.status,
      'maintenance.page': maintenance?.page,
    }
    return httpOnly(mode, sent)
  }
  const statuses = errorPages.map((one) => one.status)
  const fault = bodilessFault(maintenance?.status ?? 0)
  return [
    ...statuses.flatMap((status, at) =>
      statuses.indexOf(status) < at ? [problemIn(`errorPages.${at}.status`, `${status} already has a page`)] : [],
    ),
    ...errorPages.flatMap(({ page }, at) => pageProblems(`errorPages.${at}.page`, page)),
    ...pageProblems('maintenance.page', maintenance?.page),
    ...(fault === undefined ? [] : [problemIn('maintenance.status', fault)]),
  ]
}

/** Returns problems for the sent fields that have no meaning if HAProxy only passes bytes on. */
export function httpOnly(mode: 'http' | 'tcp', asked: Readonly<Record<string, unknown>>): readonly FieldProblem[] {
  if (mode !== 'tcp') return []
  return Object.entries(asked)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([field]) => problemIn(field, HTTP_ONLY))
}

export type FrontendSettings = Pick<
  L7Frontend,
  | 'mode'
  | 'certificates'
  | 'compression'
  | 'timeouts'
  | 'proxyProtocol'
  | 'http3'
  | 'clientCa'
  | 'clientVerify'
  | 'errorPages'
  | 'maintenance'
>

export function frontendSettingProblems(frontend: FrontendSettings): readonly FieldProblem[] {
  const { mode, compression, timeouts, proxyProtocol, http3 = false, certificates = [] } = frontend
  return [
    ...httpOnly(mode, {
      'compression.enabled': compression?.enabled,
      'timeouts.httpRequest': timeouts?.httpRequest,
      'timeouts.httpKeepAlive': timeouts?.httpKeepAlive,
      http3,
    }),
    ...(http3 && certificates.length === 0 ? [problemIn('http3', 'needs certificates')] : []),
    ...answerProblems(frontend),
    ...(Array.isArray(proxyProtocol) ? proxyProtocol : []).flatMap((network, at) =>
      parseNetwork(network) === undefined
        ? [problemIn(`proxyProtocol.${at}`, 'must be an address or a network such as 192.0.2.0/24')]
        : [],
    ),
    ...clientProblems(frontend),
  ]
}

export type BackendSettings = Pick<L7Backend, 'mode' | 'httpReuse' | 'errorPages' | 'maintenance'>

export function backendSettingProblems(backend: BackendSettings): readonly FieldProblem[] {
  const { mode, httpReuse } = backend
  return [...httpOnly(mode, { httpReuse: httpReuse === 'safe' ? undefined : httpReuse }), ...answerProblems(backend)]
}

/**
 * A frontend that should admit only clients with a certificate must not lose that check because another field is
 * missing.
 */
function clientProblems(frontend: FrontendSettings): readonly FieldProblem[] {
  const { certificates = [], clientCa = '', clientVerify = 'none' } = frontend
  const fault = clientCa === '' ? undefined : authoritiesFault(clientCa)
  const isAsked = clientVerify !== 'none'
  return [
    ...(fault === undefined ? [] : [problemIn('clientCa', fault)]),
    ...(clientCa !== '' && !isAsked
      ? [problemIn('clientVerify', 'needs optional or required if clientCa is set, which otherwise has no effect')]
      : []),
    ...(isAsked && clientCa === '' ? [problemIn('clientVerify', 'needs clientCa, to verify client certificates')] : []),
    ...(isAsked && certificates.length === 0
      ? [problemIn('clientVerify', 'needs certificates: without TLS no client presents one')]
      : []),
  ]
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]+-----END \1-----/g

function authoritiesFault(pem: string): string | undefined {
  const blocks = [...pem.matchAll(BLOCK)]
  if (blocks.length === 0 || blocks.some(([, label]) => label !== 'CERTIFICATE'))
    return 'must be certificates in PEM, and nothing else'
  for (const [at, [text]] of blocks.entries()) {
    const { ca } = certificateIn(text) ?? {}
    if (ca === undefined) return `cannot be read: certificate ${at + 1} is invalid`
    if (!ca) return `contains a certificate that is not from an authority: certificate ${at + 1} may not issue others`
  }
  return undefined
}

function certificateIn(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}
