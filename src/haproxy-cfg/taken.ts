import { REFUSALS } from '../model/l7-rules.ts'
import { isIP } from 'node:net'
import { FRAMING_HEADERS } from '../base/framing-headers.ts'
import { type Line, secondsOf } from './lines.ts'
import { entryOf, type Reading, refuse } from './reading.ts'

/** The meaning of lines that frontends and backends share. */

/** Keywords without effect on balancing, or that Fulcrum sets itself, with the reason for leaving them out. */
const OWN: Readonly<Record<string, string>> = {
  log: 'access logs are a field of frontends (logs), and are stored by Fulcrum',
  'option httplog': 'access logs are a field of frontends (logs)',
  'option tcplog': 'access logs are a field of frontends (logs)',
  'option dontlognull': 'access logs are a field of frontends (logs)',
  'option log-health-checks': 'health is reported by events',
  'log-format': 'access logs have their own format',
  stats: 'statistics are read from Fulcrum',
  daemon: 'the process is managed by Fulcrum',
  user: 'the process is managed by Fulcrum',
  group: 'the process is managed by Fulcrum',
  chroot: 'the process is managed by Fulcrum',
  pidfile: 'the process is managed by Fulcrum',
  'master-worker': 'the process is managed by Fulcrum',
  'ca-base': 'certificates are managed by Fulcrum',
  'crt-base': 'certificates are managed by Fulcrum',
  uid: 'the process is managed by Fulcrum',
  gid: 'the process is managed by Fulcrum',
  'ulimit-n': 'the process is managed by Fulcrum',
  errorfile: 'its text belongs in errorPages of a frontend or backend',
}

/** Lines that mean the same among raw lines, and that refer to no other record. */
const RAW: readonly RegExp[] = [
  /^(no )?option (http-server-close|http-keep-alive|httpclose|http-buffer-request|http-no-delay|http-pretend-keepalive|tcp-smart-accept|tcp-smart-connect|clitcpka|srvtcpka|tcpka|nolinger|abortonclose|allbackups|prefer-last-server|persist|redispatch|contstats|splice-(auto|request|response)|h1-case-adjust-bogus-(client|server)|accept-invalid-http-(request|response)|disable-h2-upgrade|socket-stats|independent-streams)\b/,
  /^(retries|retry-on|fullconn|backlog|hash-type|max-keep-alive-queue|monitor-uri|tcp-(request|response) inspect-delay|tcp-request (connection|session) expect-(proxy|netscaler-cip)|http-request (set-log-level|set-nice|set-priority-class|set-tos|set-mark|wait-for-body)|http-response (set-log-level|set-tos)|unique-id-(format|header)|rate-limit sessions) /,
  // Frontends of Fulcrum accept TLS 1.2 and later, and say so at each address.
  /^ssl-default-bind-options(?! .*(ssl-max-ver|ssl-min-ver (?!TLSv1\.2\b)|force-|no-tlsv1[23])) /,
  /^(nbthread|cpu-map|tune\.[a-z0-9.-]+|ssl-default-bind-(ciphers|ciphersuites|curves)|ssl-default-server-(options|ciphers|ciphersuites|curves)|ssl-dh-param-file|spread-checks|maxconnrate|maxsslconn|maxsslrate|hard-stop-after|h1-case-adjust) /,
]

export const NO_COUNTERPART = 'it has no counterpart'

/** Why some lines are no raw lines, although HAProxy would accept them. */
const REASONS: readonly (readonly [form: RegExp, why: string])[] = [
  [/^ssl-default-bind-options$/, 'the versions of TLS are a field of frontends (minTls)'],
  [/^tcp-re(quest|sponse)$/, 'it has no counterpart: rules of frontends compare source and SNI'],
]

/** Returns the line as a raw line; undefined if it cannot be one. */
export function rawOf({ words, text }: Line): string | undefined {
  const plain = words.join(' ')
  if (/[^\u0020-\u007e]/.test(plain)) return undefined
  // Without the comment, and with single spaces.
  const hasQuotes = text.replace(/#.*/s, '').trim().split(/\s+/).join(' ') !== plain
  const isPlain = !hasQuotes && RAW.some((form) => form.test(plain)) && !/\b(if|unless)\b|%\[|[{}"'\\]/.test(plain)
  return isPlain ? plain : rawHeader(words)
}

/** HAProxy heeds the first of several, which is Fulcrum's own where rules ask for SNI. */
export const isInspectDelay = (raw: string): boolean => raw.startsWith('tcp-request inspect-delay ')
export const OWN_DELAY = 'rules that ask for the name (SNI) wait 5 s for it'

/** Raw lines that HAProxy heeds only in a backend, and those that both sides need. */
const OF_BACK =
  /^(no )?option (abortonclose|accept-invalid-http-response|allbackups|h1-case-adjust-bogus-server|http-pretend-keepalive|persist|prefer-last-server|redispatch|srvtcpka|tcp-smart-connect)\b|^(retries|retry-on|fullconn|hash-type|max-keep-alive-queue|tcp-response) /
const OF_BOTH =
  /^(no )?option (http-server-close|http-keep-alive|httpclose|http-buffer-request|http-no-delay|independent-streams|nolinger|splice-\w+|tcpka)\b/

/** Returns which halves of a `listen` section need a raw line, so that it means the same. */
export function sidesOf(raw: string): Readonly<Record<'front' | 'back', boolean>> {
  const isBoth = OF_BOTH.test(raw)
  const isBack = OF_BACK.test(raw)
  return { front: isBoth || !isBack, back: isBoth || isBack }
}

/** Converts a header of all requests or answers of a proxy, without computed parts. */
function rawHeader([of = '', verb = '', name = '', value, ...more]: readonly string[]): string | undefined {
  if (!/^http-(request|response)$/.test(of) || !/^[\w-]{1,100}$/.test(name) || more.length > 0) return undefined
  if (verb === 'del-header') return value === undefined ? `${of} ${verb} ${name}` : undefined
  const isPlain = value !== undefined && !/["\\$]|%(?!%)/.test(value.replaceAll('%%', ''))
  return /^(set|add)-header$/.test(verb) && isPlain ? `${of} ${verb} ${name} "${value}"` : undefined
}

/** Says why nothing of a line is in the document; what Fulcrum does anyway is only a remark. */
export function leave(line: Line, why: string, reading: Reading): void {
  const [first = '', second = ''] = line.words
  const own = entryOf(OWN, `${first} ${second}`) ?? entryOf(OWN, first)
  const reason = why === NO_COUNTERPART ? REASONS.find(([form]) => form.test(first))?.[1] : undefined
  if (own === undefined) reading.leave(line, reason ?? why)
  else reading.remark(line, own)
}

const DAY_S = 86_400

/** Returns a time in whole seconds, with a remark if it is rounded, or longer than `most`. */
export function wholeSeconds(line: Line, text: string | undefined, reading: Reading, most = DAY_S): number {
  const seconds = secondsOf(text) ?? refuse(`${text ?? 'nothing'} is not a time`)
  if (seconds === 0) refuse('0, meaning no limit, has no counterpart')
  const whole = Math.max(1, Math.ceil(seconds))
  if (whole > most) reading.remark(line, `it becomes ${most} s, the longest that Fulcrum has here`)
  else if (whole !== seconds) reading.remark(line, `Fulcrum counts whole seconds: it becomes ${whole} s`)
  return Math.min(whole, most)
}

export const modeOf = (mode = ''): string =>
  mode === 'http' || mode === 'tcp' ? mode : refuse(`there is no mode ${mode}`)

/** Applies the options of a bind or server line to `draft`, each with the words that belong to it. */
export function takeOptions<T>(
  table: Readonly<Record<string, (draft: T, value: () => string) => void>>,
  options: readonly string[],
  draft: T,
): T {
  for (let at = 0; at < options.length; at++) {
    const option = options[at] ?? ''
    const take = entryOf(table, option) ?? (() => refuse(`${option} has no counterpart`))
    take(draft, () => options[(at += 1)] ?? '')
  }
  return draft
}

export function wholeNumber(text: string | undefined): number {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) : refuse(`${text ?? 'nothing'} is not a number`)
}

/** Parses an address and ports: `*:80`, `192.0.2.1:80,443`, `[::]:443`, `:8000-8010`. */
export function listenOf(text: string): { readonly ip: string; readonly ports: string } {
  const form = /^(ipv[46]@)?(\*|\[[\da-fA-F:.]+\]|[\d.]*|[\da-fA-F:]+):(\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)$/
  const [, family, address = '', ports] = form.exec(text) ?? []
  const all = family === 'ipv6@' ? '::' : '0.0.0.0'
  const ip = address === '' || address === '*' ? all : address.replace(/^\[|\]$/g, '')
  return ports === undefined || isIP(ip) === 0 ? refuse('Fulcrum listens on one address and ports') : { ip, ports }
}

/** Adds remarks on the options of `option forwardfor`: sources that get no header, or another header name. */
export function forwardedFor(words: readonly string[], line: Line, reading: Reading): void {
  const [, except, header = 'X-Forwarded-For', ifNone] =
    /^(except \S+)?(?: ?header (\S+))?(?: ?(if-none))?$/.exec(words.join(' ')) ?? refuse(NO_COUNTERPART)
  if (header.toLowerCase() !== 'x-forwarded-for') refuse(`a header ${header} for addresses has no counterpart`)
  if (except !== undefined || ifNone !== undefined)
    reading.remark(line, 'Fulcrum adds X-Forwarded-For to every request')
}

/** Checks a header name for a rule: some files have a colon after it, which HAProxy would send. */
export function headerName(name: string): string {
  if (FRAMING_HEADERS.has(name.toLowerCase())) refuse(`${name} is set by HAProxy itself, not by rules`)
  return /^[A-Za-z0-9_-]{1,64}$/.test(name) ? name : refuse(`${name} is not the name of a header`)
}

/** Checks a header value, which must have no computed parts. */
export function plainText(text: string): string {
  if (/\{[a-zA-Z]+(\.[\w-]{1,64})?\}/.test(text)) refuse('a word in braces is replaced by rules of Fulcrum')
  return /%\[|%[a-zA-Z{+]/.test(text) ? refuse('a computed value has no counterpart') : text.replaceAll('%%', '%')
}

const isRefusal = (status: string): boolean => REFUSALS.some((known) => String(known) === status)

/** Parses the status of a deny or tarpit. */
export function statusIn([option, status = '', ...more]: readonly string[]): object {
  if (option === undefined) return {}
  const isStatus = (option === 'deny_status' || option === 'status') && more.length === 0
  if (!isStatus) refuse(`${option} has no counterpart`)
  return isRefusal(status) ? { status: wholeNumber(status) } : refuse(`rules do not refuse with ${status}`)
}
