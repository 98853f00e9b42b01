import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { descriptorOf } from './ipvs/descriptor.ts'
import { parseNetwork } from './base/ip-network.ts'
import { parseSocketAddress, type SocketAddress } from './base/socket-address.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

/** All settings from outside, read once at the start. */
export interface Settings {
  readonly profile: 'trial' | 'appliance'
  /** Folder of everything that this daemon stores. */
  readonly state: string
  readonly listen: Address
  /** Address for plain HTTP on loopback, in addition to TLS. */
  readonly http: Address | undefined
  /** The daemon's own socket: callers that may open it need no login. */
  readonly localSocket: string
  /** Address for plain HTTP that serves only /metrics, without a token; undefined: only the API serves metrics. */
  readonly metrics: Address | undefined
  /** Command socket of a HAProxy that is only observed; undefined: this daemon manages its own HAProxy. */
  readonly observe: SocketAddress | undefined
  /** Whether to run the demonstration; undefined: if the state folder is empty. */
  readonly demo: boolean | undefined
  /** Whether the trial's HAProxy keeps serving when the daemon ends. */
  readonly keep: boolean
  /** Verify the stores and exit. */
  readonly check: boolean
  /** Repair the stores and exit. */
  readonly repair: boolean
  /** Address at which nodes of a cluster talk to each other; etcd and HAProxy use the next three ports. */
  readonly peer: Address
  /** The etcd program of a trial; an appliance uses that of its unit. */
  readonly etcd: string
  /** Trial: number of daemons on this machine that form one cluster; undefined: one daemon. */
  readonly nodes: number | undefined
  /** Set for a node of such a cluster only. */
  readonly beside: BesideOthers | undefined
  /** Minimum number of days that the audit log keeps its entries. */
  readonly auditDays: number
  /** Access logs are kept for this many days or up to this many MiB, whichever is reached first. */
  readonly logDays: number
  readonly logMegabytes: number
  /** Addresses and networks that are allowed as alert targets although they belong to this machine or its link. */
  readonly alertsTo: readonly string[]
  /** Number of front threads, which speak with clients of the API; 0: the main thread does. */
  readonly frontThreads: number
  readonly administrator: { readonly email: string; readonly password: string | undefined }
  /** Values passed by the service manager. */
  readonly notify: { readonly NOTIFY_SOCKET: string | undefined; readonly WATCHDOG_USEC: string | undefined }
  /** Descriptor of the netlink socket that the launcher opened. */
  readonly genetlink: number | undefined
}

/** Settings of a witness, which has neither API nor configuration: other settings would mean nothing. */
export interface WitnessSettings extends Pick<Settings, 'state' | 'peer' | 'etcd' | 'check' | 'notify'> {
  readonly profile: 'witness'
}

/** Settings that must differ between nodes on one machine. */
export interface BesideOthers {
  /** Address of what other trials serve at 127.0.0.1. */
  readonly loopback: string
  /** Ports of the demonstration, whose origins run elsewhere; undefined: no demonstration. */
  readonly demo: DemoPorts | undefined
}

export interface DemoPorts {
  readonly frontend: number
  readonly origins: readonly [number, number]
}

/** A setting cannot be used; the daemon exits with code 2 and this one line. */
export class SettingsError extends Error {}

export const USAGE = `usage: npm start -- [options]
  --state DIR           folder for all state of the daemon (trial: .fulcrum, appliance: /var/lib/fulcrum)
  --listen HOST:PORT    HTTPS address (trial: 127.0.0.1:9443, appliance: 0.0.0.0:9443)
  --http HOST:PORT      additional address for plain HTTP, on loopback only
  --metrics-listen HOST:PORT
                        serve Prometheus metrics at http://HOST:PORT/metrics without a token, and nothing else
                        (default: only at /api/v1/metrics, with a token)
  --peer HOST:PORT      address for the other nodes of a cluster (default: the port above --listen); etcd and HAProxy
                        use the three ports above it
  --profile NAME        trial (default), appliance, or witness: a third vote for a cluster, without API and
                        configuration; a witness has only --peer, --state (default: /var/lib/fulcrum) and --check, and
                        joins with the token in the file join-token in its state folder
  --nodes N             trial: run 3 to 5 daemons as one cluster on this machine, at consecutive loopback addresses
                        starting with that of --listen, with their state in subfolders of --state
  --observe SOCKET      watch a running HAProxy without changing it: path of its stats or master socket, or
                        ADDRESS:PORT
  --keep                trial: keep HAProxy running after Ctrl-C or SIGTERM; the next start adopts it
                        (default: HAProxy is stopped too)
  --demo | --no-demo    whether to set up a small demonstration (default: on the first start in the trial profile)
  --audit-days N        keep the audit log for at least N days, 1 to 3650 (default: 90)
  --log-days N          keep access logs for N days, 1 to 3650 (default: 30), but no more than
  --log-mib N           N MiB of them, 16 to 1048576 (default: 1024)
  --alerts-to NETWORKS  comma-separated addresses and networks to which alerts may be sent although they belong to this
                        machine or its link, for example 127.0.0.1 for a local mail server
  --front-threads N     threads for the connections of API clients, 0 to 16 (default: 0, the main thread serves them);
                        for tens of thousands of polls per second on machines with spare processors
  --check               verify the stores and exit
  --repair              repair damaged stores, report what was done, and exit
Each option has an environment variable: FULCRUM_STATE, FULCRUM_LISTEN, FULCRUM_HTTP, FULCRUM_METRICS_LISTEN,
FULCRUM_PEER, FULCRUM_PROFILE, FULCRUM_NODES, FULCRUM_OBSERVE, FULCRUM_KEEP and FULCRUM_DEMO (true or false),
FULCRUM_AUDIT_DAYS, FULCRUM_LOG_DAYS, FULCRUM_LOG_MIB, FULCRUM_ALERTS_TO, FULCRUM_FRONT_THREADS, FULCRUM_CHECK,
FULCRUM_REPAIR. First administrator: FULCRUM_ADMIN_EMAIL, FULCRUM_ADMIN_PASSWORD. etcd of a trial: FULCRUM_ETCD
(default: the machine's).`

const OPTIONS = {
  state: { type: 'string' },
  listen: { type: 'string' },
  http: { type: 'string' },
  'metrics-listen': { type: 'string' },
  peer: { type: 'string' },
  profile: { type: 'string' },
  nodes: { type: 'string' },
  observe: { type: 'string' },
  keep: { type: 'boolean' },
  demo: { type: 'boolean' },
  'no-demo': { type: 'boolean' },
  'audit-days': { type: 'string' },
  'log-days': { type: 'string' },
  'log-mib': { type: 'string' },
  'alerts-to': { type: 'string' },
  'front-threads': { type: 'string' },
  check: { type: 'boolean' },
  repair: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

type Environment = Readonly<Record<string, string | undefined>>

const PROFILES = ['trial', 'appliance', 'witness'] as const

export function readSettings(argv: readonly string[], env: Environment): Settings | WitnessSettings | 'help' {
  const given = parse(argv)
  if (given.help === true) return 'help'
  const profile = oneOf('--profile', given.profile ?? env['FULCRUM_PROFILE'] ?? 'trial', PROFILES)
  if (profile === 'witness') return witness(given, env)
  const appliance = profile === 'appliance'
  const observe = observed(given.observe ?? env['FULCRUM_OBSERVE'])
  const listen = address('--listen', given.listen ?? env['FULCRUM_LISTEN'] ?? defaultListen(appliance))
  return Object.freeze({
    profile,
    ...folders(given.state, env, appliance),
    listen,
    ...withoutTls(given, env, listen),
    observe,
    demo: demo(given.demo, given['no-demo'], env['FULCRUM_DEMO'], observe !== undefined),
    keep: keep(isOn('FULCRUM_KEEP', given.keep, env), appliance, observe !== undefined),
    check: isOn('FULCRUM_CHECK', given.check, env),
    repair: isOn('FULCRUM_REPAIR', given.repair, env),
    peer: peer(given.peer ?? env['FULCRUM_PEER'], listen),
    etcd: etcd(env['FULCRUM_ETCD']),
    nodes: nodes(given.nodes, env['FULCRUM_NODES']),
    beside: beside(env['FULCRUM_BESIDE']),
    auditDays: whole('--audit-days', given['audit-days'] ?? env['FULCRUM_AUDIT_DAYS'], DAYS, 90),
    ...logLimits(given, env),
    alertsTo: alertsTo(given, env),
    frontThreads: whole('--front-threads', given['front-threads'] ?? env['FULCRUM_FRONT_THREADS'], THREADS, 0),
    administrator: {
      email: administratorEmail(env['FULCRUM_ADMIN_EMAIL']),
      password: administratorPassword(env['FULCRUM_ADMIN_PASSWORD']),
    },
    notify: notify(env),
    genetlink: descriptorOf(env['FULCRUM_GENETLINK']),
  })
}

/** A trial must not use folders that a service manager made for an appliance. */
function folders(
  given: string | undefined,
  env: Environment,
  appliance: boolean,
): Pick<Settings, 'state' | 'localSocket'> {
  const state = resolve(given ?? env['FULCRUM_STATE'] ?? (appliance ? STATE : '.fulcrum'))
  const folder = (appliance ? env['RUNTIME_DIRECTORY'] : undefined) ?? state
  return { state, localSocket: join(folder, 'api.sock') }
}

const STATE = '/var/lib/fulcrum'
const OF_WITNESSES: ReadonlySet<string> = new Set(['profile', 'peer', 'state', 'check'])

/** Environment variables for nodes are ignored: a settings file may contain them. */
function witness(given: ReturnType<typeof parse>, env: Environment): WitnessSettings {
  const other = Object.keys(given).find((name) => !OF_WITNESSES.has(name))
  if (other !== undefined) throw new SettingsError(`--${other}: is not for a witness, which has no API`)
  const place = given.peer ?? env['FULCRUM_PEER']
  if (place === undefined || place === '')
    throw new SettingsError('--profile witness needs --peer ADDRESS:PORT, at which the nodes of the cluster reach it')
  const own = address('--peer', place)
  if (isAny(own.host) || own.port === 0 || own.port > PEER_PORT_MAX)
    throw new SettingsError(`--peer ${place}: must be one address of this machine and a port of at most 65533`)
  return Object.freeze({
    profile: 'witness',
    state: resolve(given.state ?? env['FULCRUM_STATE'] ?? STATE),
    peer: own,
    etcd: etcd(env['FULCRUM_ETCD']),
    check: isOn('FULCRUM_CHECK', given.check, env),
    notify: notify(env),
  })
}

/** etcd uses the next two ports. */
const PEER_PORT_MAX = 65_533
const isAny = (host: string) => host === '0.0.0.0' || host === '::'

const notify = (env: Environment): Settings['notify'] => ({
  NOTIFY_SOCKET: env['NOTIFY_SOCKET'],
  WATCHDOG_USEC: env['WATCHDOG_USEC'],
})

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error)
    throw new SettingsError(`${reason}; --help lists the options`)
  }
}

const defaultListen = (appliance: boolean) => (appliance ? '0.0.0.0:9443' : '127.0.0.1:9443')

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value)
  if (found === undefined) throw new SettingsError(`${option} ${value}: must be ${allowed.join(' or ')}`)
  return found
}

/** "127.0.0.1:9443" or "[::1]:9443"; port 0 lets the system choose. */
function address(option: string, text: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2] ?? ''
  const port = Number(match?.[3])
  if (isIP(host) === 0 || !(port <= 65_535)) {
    throw new SettingsError(`${option} ${text}: must be ADDRESS:PORT, such as 127.0.0.1:9443 or [::1]:9443`)
  }
  return { host, port }
}

/** Returns the given address, or else the port after that of the API. */
function peer(text: string | undefined, listen: Address): Address {
  return text === undefined || text === ''
    ? { ...listen, port: listen.port === 0 ? 0 : listen.port + 1 }
    : address('--peer', text)
}

function plainHttp(text: string | undefined): Address | undefined {
  if (text === undefined || text === '') return undefined
  const http = address('--http', text)
  if (isLoopback(http.host)) return http
  throw new SettingsError(`--http ${http.host}: plain HTTP is for loopback addresses only; use 127.0.0.1 or ::1`)
}

function withoutTls(
  given: ReturnType<typeof parse>,
  env: Environment,
  listen: Address,
): Pick<Settings, 'http' | 'metrics'> {
  const http = plainHttp(given.http ?? env['FULCRUM_HTTP'])
  return { http, metrics: metrics(given['metrics-listen'] ?? env['FULCRUM_METRICS_LISTEN'], [listen, http]) }
}

/**
 * Everybody who reaches this address can read all names and figures, so it must be a separate address, chosen on
 * purpose.
 */
function metrics(text: string | undefined, others: readonly (Address | undefined)[]): Address | undefined {
  if (text === undefined || text === '') return undefined
  const own = address('--metrics-listen', text)
  if (others.some((other) => other?.host === own.host && other.port === own.port && own.port !== 0))
    throw new SettingsError(`--metrics-listen ${text}: must not be the address of --listen or --http`)
  return own
}

function isLoopback(host: string): boolean {
  return host === '::1' || host.startsWith('127.')
}

function flag(name: string, value: string | undefined): boolean | undefined {
  if (value === undefined || value === '') return undefined
  return oneOf(name, value, ['true', 'false']) === 'true'
}

function isOn(name: string, given: boolean | undefined, env: Environment): boolean {
  return given ?? flag(name, env[name]) ?? false
}

function observed(text: string | undefined): SocketAddress | undefined {
  if (text === undefined || text === '') return undefined
  const target = parseSocketAddress(text)
  if (typeof target === 'string') throw new SettingsError(`--observe ${text}: ${target}`)
  return target
}

function demo(
  on: boolean | undefined,
  off: boolean | undefined,
  env: string | undefined,
  observes: boolean,
): boolean | undefined {
  if (on === true && off === true) throw new SettingsError('--demo and --no-demo exclude each other')
  const wanted = on === true || off === true ? on === true : flag('FULCRUM_DEMO', env)
  if (!observes) return wanted
  if (wanted === true)
    throw new SettingsError('--demo and --observe exclude each other: the observed HAProxy is not changed')
  return false
}

function keep(wanted: boolean, appliance: boolean, observes: boolean): boolean {
  if (!wanted) return false
  if (appliance)
    throw new SettingsError('--keep is for the trial profile; the HAProxy of an appliance keeps running anyway')
  if (observes)
    throw new SettingsError('--keep and --observe exclude each other: the observed HAProxy keeps running anyway')
  return true
}

const etcd = (text: string | undefined): string => (text === undefined || text === '' ? 'etcd' : text)

function nodes(given: string | undefined, env: string | undefined): number | undefined {
  const text = given ?? env
  if (text === undefined || text === '') return undefined
  if (/^[3-5]$/.test(text)) return Number(text)
  const pair = text === '2' ? '; of two, neither could continue without the other' : ''
  throw new SettingsError(`--nodes ${text}: must be 3, 4 or 5${pair}`)
}

/** Parses a text that `besideText` has written. */
function beside(text: string | undefined): BesideOthers | undefined {
  const match = /^(127(?:\.\d{1,3}){3})(?: (\d+),(\d+),(\d+))?$/.exec(text ?? '')
  if (match === null) return undefined
  const [, loopback = '', ...ports] = match
  const [frontend = Number.NaN, one = 0, two = 0] = ports.map(Number)
  return { loopback, demo: Number.isNaN(frontend) ? undefined : { frontend, origins: [one, two] } }
}

/** Returns the environment variable's text for a node that shares its machine. */
export function besideText({ loopback, demo: ports }: BesideOthers): string {
  return ports === undefined ? loopback : `${loopback} ${[ports.frontend, ...ports.origins].join(',')}`
}

function logLimits(given: ReturnType<typeof parse>, env: Environment): Pick<Settings, 'logDays' | 'logMegabytes'> {
  return {
    logDays: whole('--log-days', given['log-days'] ?? env['FULCRUM_LOG_DAYS'], DAYS, 30),
    logMegabytes: whole('--log-mib', given['log-mib'] ?? env['FULCRUM_LOG_MIB'], LOG_MIB, 1024),
  }
}

function alertsTo(given: ReturnType<typeof parse>, env: Environment): readonly string[] {
  const all = (given['alerts-to'] ?? env['FULCRUM_ALERTS_TO'] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  const wrong = all.find((one) => parseNetwork(one) === undefined)
  if (wrong === undefined) return all
  throw new SettingsError(`--alerts-to ${wrong}: must be an address or a network such as 192.0.2.0/24`)
}

const DAYS = [1, 3650] as const
const LOG_MIB = [16, 1_048_576] as const
const THREADS = [0, 16] as const

function whole(option: string, text: string | undefined, [least, most]: readonly [number, number], usual: number) {
  if (text === undefined || text === '') return usual
  if (/^\d{1,7}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
  throw new SettingsError(`${option} ${text}: must be a whole number from ${least} to ${most}`)
}

function administratorEmail(sent: string | undefined): string {
  const email = sent === undefined || sent === '' ? 'admin@localhost' : sent
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new SettingsError('FULCRUM_ADMIN_EMAIL: must be an e-mail address')
  return email
}

/** The password is a secret, so no message repeats it. */
function administratorPassword(sent: string | undefined): string | undefined {
  if (sent === undefined || sent === '') return undefined
  if (sent.length < 8 || sent.length > 1024)
    throw new SettingsError('FULCRUM_ADMIN_PASSWORD: must have 8 to 1024 characters')
  return sent
}
