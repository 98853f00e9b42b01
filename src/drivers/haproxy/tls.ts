import type { CipherList } from '../../model/certificates.ts'
import { parsePorts } from '../../model/ports.ts'
import { DEFAULT_MIN_TLS, type L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { clientsName, listName } from './certificates.ts'
import { type Line, quote } from './statement.ts'

/** A year, as browsers' preload lists require. */
const HSTS_S = 31_536_000
const ALT_SVC_S = 86_400
const HTTP_PORT = 80
const HTTPS_PORT = 443

const ALPN = ['h2', 'http/1.1'] as const

/** OpenSSL chooses suites of TLS 1.3 separately, and only their names begin like this. */
export const isTls13 = (suite: string): boolean => suite.startsWith('TLS_')

export function speaksTls({ certificates = [] }: L7Frontend): boolean {
  return certificates.length > 0
}

export const minTlsOf = ({ minTls = DEFAULT_MIN_TLS }: L7Frontend) => minTls

/** Returns the cipher list in force: none without TLS. */
export function cipherListOf(frontend: L7Frontend, view: ConfigView): CipherList | undefined {
  const { cipherListId } = frontend
  if (!speaksTls(frontend) || cipherListId === null || cipherListId === undefined) return undefined
  return view.get('cipherLists', cipherListId)
}

export interface PortRange {
  readonly first: number
  readonly last: number
  readonly isTls: boolean
}

/** Returns the ports of a frontend, and which of them use TLS: port 80 stays plain when it redirects to the others. */
export function portRanges(frontend: L7Frontend): readonly PortRange[] {
  const isTls = speaksTls(frontend)
  const ranges = (parsePorts(frontend.ports) ?? []).map((range) => ({ ...range, isTls }))
  if (!isTls || frontend.mode !== 'http' || frontend.httpRedirectToHttps !== true) return ranges
  const plain = { first: HTTP_PORT, last: HTTP_PORT, isTls: false }
  return ranges.flatMap((range) =>
    holds(range, HTTP_PORT) ? [...withoutPort(range, HTTP_PORT), plain].toSorted((a, b) => a.first - b.first) : [range],
  )
}

/** Returns the rest of a range: the ports below `port`, and those above. */
export function withoutPort(range: PortRange, port: number): readonly PortRange[] {
  if (!holds(range, port)) return [range]
  const below = range.first < port ? [{ ...range, last: port - 1 }] : []
  const above = range.last > port ? [{ ...range, first: port + 1 }] : []
  return [...below, ...above]
}

const shownWords = (frontend: L7Frontend, folder: string) => [
  'ssl',
  'crt-list',
  quote(`${folder}/${listName(frontend.id)}`),
  ...clientWords(frontend, folder),
]

/** Options of a bind line over UDP: QUIC is TLS 1.3. */
export function quicOptions(frontend: L7Frontend, view: ConfigView, folder: string): string {
  const words = [...shownWords(frontend, folder), 'alpn', 'h3', 'ssl-min-ver', 'TLSv1.3']
  return ` ${[...words, ...suiteWords(cipherListOf(frontend, view)?.ciphers.filter(isTls13) ?? [])].join(' ')}`
}

const suiteWords = (tls13: readonly string[]) => (tls13.length === 0 ? [] : ['ciphersuites', tls13.join(':')])

function clientWords({ id, clientVerify = 'none' }: L7Frontend, folder: string): readonly string[] {
  return clientVerify === 'none' ? [] : ['ca-file', quote(`${folder}/${clientsName(id)}`), 'verify', clientVerify]
}

function alpnWords({ mode, alpn = [] }: L7Frontend): readonly string[] {
  const offered = alpn.length > 0 ? alpn : mode === 'http' ? ALPN : []
  return offered.length === 0 ? [] : ['alpn', offered.join(',')]
}

/** TLS options of a bind line, with a leading space. */
export function tlsOptions(frontend: L7Frontend, view: ConfigView, folder: string): string {
  const minTls = minTlsOf(frontend)
  const words = shownWords(frontend, folder)
  words.push(...alpnWords(frontend), 'ssl-min-ver', `TLSv${minTls}`)
  const suites = cipherListOf(frontend, view)?.ciphers
  const [tls13, older] = [suites?.filter(isTls13) ?? [], suites?.filter((suite) => !isTls13(suite)) ?? []]
  // Otherwise OpenSSL would offer its default suites for the version that the list leaves out.
  if (suites !== undefined && tls13.length === 0) words.push('ssl-max-ver', 'TLSv1.2')
  const forOlder = [...(suites === undefined ? ['DEFAULT'] : older), ...oldVersions(minTls)]
  if (suites !== undefined ? older.length > 0 : forOlder.length > 1) words.push('ciphers', forOlder.join(':'))
  words.push(...suiteWords(tls13))
  return ` ${words.join(' ')}`
}

/** Without parameters of its own, HAProxy disables suites with finite-field Diffie-Hellman. */
export function needsDhParameters(frontends: readonly L7Frontend[], view: ConfigView): boolean {
  return frontends.some(
    (frontend) => frontend.enabled && cipherListOf(frontend, view)?.ciphers.some((suite) => suite.startsWith('DHE-')),
  )
}

/** OpenSSL 3 allows versions before 1.2 only at a security level that permits weak signatures. */
function oldVersions(minTls: string): readonly string[] {
  return minTls === '1.0' || minTls === '1.1' ? ['@SECLEVEL=0'] : []
}

/** Host header with a name or an address, optionally a port, and nothing that could end the host of a URL early. */
const HOST_PATTERN = String.raw`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`

/** Statements of an http frontend about https, with the fields they come from. */
export function httpsStatements(frontend: L7Frontend): readonly Line[] {
  const { httpRedirectToHttps = false, hsts = false, forwardFor } = frontend
  const isTls = speaksTls(frontend)
  const lines: Line[] = []
  if (isTls && forwardFor) {
    lines.push(
      ['http-request set-header X-Forwarded-Proto https if { ssl_fc }', 'forwardFor'],
      ['http-request set-header X-Forwarded-Proto http if !{ ssl_fc }', 'forwardFor'],
    )
  }
  if (httpRedirectToHttps) {
    const when = isTls ? ' if !{ ssl_fc }' : ''
    const unless = (test: string) => ` if${isTls ? ' !{ ssl_fc }' : ''} !{ ${test} }`
    const first = portRanges(frontend).find((range) => range.isTls)?.first ?? HTTPS_PORT
    const port = portRanges(frontend).some(({ isTls: tls, ...range }) => tls && holds(range, HTTPS_PORT))
      ? HTTPS_PORT
      : first
    const target = `https://%[req.fhdr(host),host_only]${port === HTTPS_PORT ? '' : `:${port}`}%[pathq]`
    lines.push(
      // A client without a proper host or path must not decide where the redirect leads.
      [
        `http-request deny deny_status 400${unless(`req.fhdr(host) -m reg ${quote(HOST_PATTERN)}`)}`,
        'httpRedirectToHttps',
      ],
      [`http-request deny deny_status 400${unless('pathq -m beg /')}`, 'httpRedirectToHttps'],
      [`http-request redirect code 301 location ${target}${when}`, 'httpRedirectToHttps'],
    )
  }
  const seconds = hsts === true ? HSTS_S : Number(hsts)
  if (isTls && seconds > 0) {
    // Set on HAProxy's own answers as well.
    lines.push([`http-after-response set-header Strict-Transport-Security max-age=${seconds} if { ssl_fc }`, 'hsts'])
  }
  return [...lines, ...quicStatements(frontend)]
}

/** Advertises HTTP/3, which browsers use from their next request on. */
function quicStatements({ http3 = false }: L7Frontend): readonly Line[] {
  const told = `'h3=":%[dst_port]"; ma=${ALT_SVC_S}'`
  return http3 ? [[`http-after-response set-header Alt-Svc ${told} if { ssl_fc }`, 'http3']] : []
}

export const holds = ({ first, last }: { readonly first: number; readonly last: number }, port: number): boolean =>
  first <= port && port <= last
