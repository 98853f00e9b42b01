import { join } from 'node:path'
import { type Address, besideText, type DemoPorts, type Settings, SettingsError } from '../../settings.ts'

/** Folder and addresses of one of several nodes on this machine. */
export interface NodePlace {
  /** Counts from 1. */
  readonly number: number
  readonly state: string
  readonly listen: Address
  readonly http: Address | undefined
  readonly metrics: Address | undefined
  readonly peer: Address
}

/** etcd uses the two ports above the peer port, and HAProxy the next one. */
const PEER_PORTS = 4
const LAST_PORT = 65_535
const LAST_OCTET = 254

type Environment = Readonly<Record<string, string | undefined>>

type Refuse = (why: string) => never

/** Returns the nodes, at consecutive addresses from that of the first. Throws for settings that do not allow it. */
export function nodePlaces(settings: Settings, nodes: number): readonly NodePlace[] {
  const { listen, http, metrics, peer, state } = settings
  const refuse: Refuse = (why) => {
    throw new SettingsError(`--nodes ${nodes}: ${why}`)
  }
  assertTogether(settings, refuse)
  const [, network = '', first = ''] = /^(127\.\d+\.\d+\.)(\d+)$/.exec(listen.host) ?? []
  const last = LAST_OCTET + 1 - nodes
  if (network === '' || Number(first) < 1 || Number(first) > last)
    refuse(
      `--listen ${listen.host} must be a loopback address up to 127.x.x.${last}: the other nodes use the following ones`,
    )
  assertApart(settings, refuse)
  return Array.from({ length: nodes }, (_, index) => {
    const host = `${network}${Number(first) + index}`
    return {
      number: index + 1,
      state: join(state, `node-${index + 1}`),
      listen: { ...listen, host },
      http: http === undefined ? undefined : { ...http, host },
      metrics: metrics === undefined ? undefined : { ...metrics, host },
      peer: { ...peer, host },
    }
  })
}

/** Refuses other options that do not fit several daemons. */
function assertTogether({ profile, observe, keep, check, repair, state }: Settings, refuse: Refuse): void {
  if (profile !== 'trial') refuse('is for the trial profile; appliances join by POST /cluster/join')
  if (observe !== undefined) refuse('excludes --observe: each node has a HAProxy of its own')
  if (keep) refuse('excludes --keep: the nodes end together, with their HAProxys')
  if (check || repair) refuse(`excludes --check and --repair: name one node, --state ${state}/node-1`)
}

function assertApart({ listen, http, metrics, peer }: Settings, refuse: Refuse): void {
  for (const [option, other] of [
    ['--http', http],
    ['--metrics-listen', metrics],
    ['--peer', peer],
  ] as const)
    if (other !== undefined && other.host !== listen.host)
      refuse(`${option} ${other.host} must have the address of --listen, ${listen.host}; each node has one of its own`)
  const ports = [listen.port, ...plainPorts({ http, metrics }), ...peerPorts(peer)]
  if (ports.includes(0)) refuse('the ports must be given: the nodes find each other by them')
  if (ports.some((port) => port > LAST_PORT))
    refuse(`--peer ${peer.port} leaves no room for the next three ports, which etcd and HAProxy need`)
  if (new Set(ports).size < ports.length)
    refuse(
      `--listen, --http, --metrics-listen, --peer and the three ports after --peer must all differ: ${ports.join(', ')}`,
    )
}

/** Returns the ports without TLS. */
export const plainPorts = ({ http, metrics }: Pick<NodePlace, 'http' | 'metrics'>): readonly number[] =>
  [http, metrics].flatMap((one) => (one === undefined ? [] : [one.port]))

/** Returns the ports of the node itself, and of its etcd and HAProxy. */
export const peerPorts = ({ port }: Address): readonly number[] =>
  Array.from({ length: PEER_PORTS }, (_, above) => port + above)

export const addressText = ({ host, port }: Address): string => `${host}:${port}`
export const apiUrl = ({ listen }: NodePlace): string => `https://${addressText(listen)}`

/** Returns the command line for the daemon of a node. The first node has the demonstration. */
export function nodeArguments(
  { number, state, listen, http, metrics, peer }: NodePlace,
  settings: Settings,
): readonly string[] {
  const demo = number > 1 ? false : settings.demo
  const options = {
    '--state': state,
    '--listen': addressText(listen),
    '--peer': addressText(peer),
    ...(http === undefined ? {} : { '--http': addressText(http) }),
    ...(metrics === undefined ? {} : { '--metrics-listen': addressText(metrics) }),
    '--audit-days': String(settings.auditDays),
    '--log-days': String(settings.logDays),
    '--log-mib': String(settings.logMegabytes),
    ...(settings.alertsTo.length === 0 ? {} : { '--alerts-to': settings.alertsTo.join(',') }),
  }
  return [...Object.entries(options).flat(), ...(demo === undefined ? [] : [demo ? '--demo' : '--no-demo'])]
}

/**
 * Returns the environment for the daemon of a node: of the FULCRUM_ variables only those for the administrator, and the
 * node's own.
 */
export function nodeEnvironment(
  { number, listen }: NodePlace,
  env: Environment,
  etcd: string,
  demo: DemoPorts | undefined,
): Environment {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('FULCRUM_') || name.startsWith('FULCRUM_ADMIN_'))
  const beside = { loopback: listen.host, demo: number === 1 ? demo : undefined }
  const own = {
    FULCRUM_ETCD: etcd,
    FULCRUM_BESIDE: besideText(beside),
    NOTIFY_SOCKET: undefined,
    WATCHDOG_USEC: undefined,
  }
  return { ...Object.fromEntries(kept), ...own }
}
