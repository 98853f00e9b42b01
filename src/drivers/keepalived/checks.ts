import { type AskedCheck, askedCheck } from '../../health-checks/asked-check.ts'
import { wrapperName } from '../../health-checks/wrapper.ts'
import { isWeb } from '../../health-checks/web-values.ts'
import { CHECK_DEFAULTS, type HealthCheckSetting } from '../../model/health-check.ts'
import type { L4Backend } from '../../model/layer4.ts'

/** Beside keepalived.conf; keepalived refuses programs in folders that others can change. */
export const CHECK_FOLDER = '/etc/keepalived/fulcrum-checks'

/** Text that keepalived reads literally: nothing that ends a word, begins a comment or is a placeholder. */
const PLAIN = /^[\w./:@=+,~?&%*;()[\]-]+$/
/** keepalived 2.2 treats a last byte of ff as an error. */
const HEX = /^([\da-f]{2})*(?!ff)[\da-f]{2}$/i
/** keepalived reads its file in blocks of 1024 bytes: the rest of a longer line would be a separate statement. */
const VALUE_MAX = 400
const DNS_TYPES: ReadonlySet<string> = new Set(['A', 'AAAA', 'NS', 'CNAME', 'SOA', 'MX', 'TXT'])

type Statement = string | readonly [block: string, ...lines: string[]]

/**
 * Returns the check in keepalived's syntax; undefined where a program must be started. SMTP is such a case: keepalived
 * 2.2 takes a greeting of several lines, such as a legal notice, for an error.
 */
function nativeCheck({
  id,
  values,
}: AskedCheck):
  | { readonly name: string; readonly statements: readonly Statement[]; readonly hasPort: boolean }
  | undefined {
  if (Object.values(values).some((value) => value.length > VALUE_MAX || !PLAIN.test(value))) return undefined
  switch (id) {
    case 'tcp':
      return { name: 'TCP_CHECK', statements: [], hasPort: true }
    case 'ping':
      return { name: 'PING_CHECK', statements: [], hasPort: false }
    case 'http':
    case 'https':
      return webCheck(id, values)
    case 'dns':
      return dnsCheck(values)
    case 'udp':
      return udpCheck(values)
    default:
      return undefined
  }
}

function webCheck(id: 'http' | 'https', values: AskedCheck['values']) {
  const { path, host, expect, text } = values
  // An address, or a name with a port, is no valid TLS server name.
  if (
    text !== undefined ||
    !isWeb(values) ||
    (id === 'https' && host !== undefined && (host.includes(':') || /^[\d.]+$/.test(host)))
  ) {
    return undefined
  }
  const statuses = (expect ?? CHECK_DEFAULTS.expect).replaceAll(',', ' ')
  const named = host === undefined ? [] : [`virtualhost ${host}`]
  const url: Statement = ['url', `path ${path ?? CHECK_DEFAULTS.path}`, ...named, `status_code ${statuses}`]
  const version = host === undefined ? [] : ['http_protocol 1.1']
  const isTls = id === 'https'
  const sni = isTls && host !== undefined ? ['enable_sni'] : []
  return { name: isTls ? 'SSL_GET' : 'HTTP_GET', statements: [...version, ...sni, url], hasPort: true }
}

/** keepalived tests the error code of an answer, not its content. */
function dnsCheck({ name, type = 'A', answer }: AskedCheck['values']) {
  if (name === undefined || answer !== undefined || !DNS_TYPES.has(type)) return undefined
  // keepalived 2.2 looks for empty labels from the second character on, and mistakes a first label of one character for
  // one.
  if (name[1] === '.') return undefined
  return { name: 'DNS_CHECK', statements: [`type ${type}`, `name ${name}`], hasPort: true }
}

function udpCheck({ payload, reply }: AskedCheck['values']) {
  const texts = [payload ?? '', ...(reply === undefined ? [] : [reply])]
  if (texts.some((text) => !HEX.test(text))) return undefined
  const wanted =
    reply === undefined
      ? []
      : [`require_reply ${reply}`, `min_reply_length ${reply.length / 2}`, 'max_reply_length 65535']
  return { name: 'UDP_CHECK', statements: [`payload ${payload}`, ...wanted], hasPort: true }
}

/** Whether keepalived starts a program for this check. */
export function isProgram(setting: HealthCheckSetting): boolean {
  const asked = askedCheck(setting)
  return asked !== undefined && nativeCheck(asked) === undefined
}

/**
 * Returns the check of one real server, for its block in keepalived.conf. The server goes down after `fall` failures,
 * an interval apart, and comes up with the first pass.
 */
export function checkStatements(
  { id, healthCheck }: Pick<L4Backend, 'id' | 'healthCheck'>,
  server: { readonly ip: string; readonly checkPort: number },
  frontend: { readonly ip: string; readonly ports: string },
): readonly string[] {
  const asked = askedCheck(healthCheck)
  if (asked === undefined) return []
  const { interval, fall } = asked
  const pace = [`delay_loop ${interval}`, `retry ${fall - 1}`, `delay_before_retry ${interval}`]
  const native = nativeCheck(asked)
  if (native === undefined) {
    // The sandbox is started as root and switches to the account of checks itself: with `user`, keepalived -t of 2.2.7
    // dies from a signal.
    const words = [
      `${CHECK_FOLDER}/${wrapperName(id)}`,
      frontend.ip,
      Number.parseInt(frontend.ports, 10),
      server.ip,
      server.checkPort,
    ]
    return block('MISC_CHECK', [`misc_path "${words.join(' ')}"`, `misc_timeout ${interval}`, ...pace])
  }
  const target = native.hasPort ? [`connect_port ${server.checkPort}`] : []
  return block(native.name, [...target, `connect_timeout ${interval}`, ...pace, ...native.statements])
}

/** keepalived reads one statement per line. */
function block(name: string, statements: readonly Statement[]): readonly string[] {
  const lines = statements.flatMap((statement): readonly string[] => {
    if (typeof statement === 'string') return [statement]
    const [inner, ...rest] = statement
    return block(inner, rest)
  })
  return [`${name} {`, ...lines.map((line) => `    ${line}`), '}']
}
