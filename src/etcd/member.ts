/** One listening side of a member with its mutual TLS. The files are PEM, except the revocation list. */
export interface MemberSide {
  /** The URLs on which the member listens, such as `https://192.0.2.1:2380`. */
  readonly listen: readonly string[]
  /** The URLs at which others reach the member. */
  readonly advertise: readonly string[]
  /**
   * For both uses, server and client: a member connects to its own gateway with it. It names the addresses at which the
   * member is reached.
   */
  readonly certificateFile: string
  readonly keyFile: string
  /** The authority of the other side's certificates. */
  readonly caFile: string
  /**
   * The list of revoked certificates, in DER; in any other format every connection is refused. etcd reads it for each
   * new connection; open ones stay.
   */
  readonly crlFile?: string
}

/** A socket for programs on the same machine that may open the file. */
export interface MemberSocket {
  readonly socket: string
}

export interface MemberSettings {
  readonly name: string
  readonly dataFolder: string
  readonly peer: MemberSide
  readonly client: MemberSide
  /** All members including this one, by name, with their peer URLs. */
  readonly members: Readonly<Record<string, readonly string[]>>
  /** `existing`: the member was added to an existing cluster. Used at the first start only, like `members`. */
  readonly state: 'new' | 'existing'
  /** A name that only members of this cluster know; used at the first start only. It is no secret. */
  readonly token: string
  /** Makes a cluster of this member alone from its data. For one start, never twice. */
  readonly isForcedNew?: boolean
  /** Interval of etcd's progress notes to idle watches, in seconds; ten minutes when absent. */
  readonly progressEvery_s?: number
}

/** Settings of a member that has no clients on other machines. */
export type AsideSettings = Omit<MemberSettings, 'client'> & { readonly client: MemberSocket }

const QUOTA_BYTES = 512 * 2 ** 20
/**
 * Minimum number of entries that a member keeps in memory. They take most of its memory, so a member without clients
 * keeps few: another member that was away for longer gets the whole database instead.
 */
const KEPT = { server: 10_000, aside: 500 } as const
/** Makes a member form a cluster of itself alone. */
export const FORCED_NEW = '--force-new-cluster=true'

/**
 * Returns the arguments of `etcd`. They are arguments because its configuration file has no setting for revocation
 * lists; secrets are in files that only etcd reads. Metrics of the member are available only on the client side, with a
 * certificate. Limits of requests keep their defaults.
 */
export function memberArguments(settings: MemberSettings | AsideSettings): readonly string[] {
  const { name, dataFolder, peer, client, members, state, token, isForcedNew = false, progressEvery_s } = settings
  const cluster = Object.entries(members).flatMap(([member, urls]) => urls.map((url) => `${member}=${url}`))
  return [
    `--name=${name}`,
    `--data-dir=${dataFolder}`,
    `--listen-peer-urls=${peer.listen.join(',')}`,
    `--initial-advertise-peer-urls=${peer.advertise.join(',')}`,
    ...clientUrls(client),
    `--initial-cluster=${cluster.join(',')}`,
    `--initial-cluster-state=${state}`,
    `--initial-cluster-token=${token}`,
    ...('socket' in client ? [] : sideArguments('', client)),
    ...sideArguments('peer-', peer),
    // The key identifies a peer: its source address depends on its machine's kernel, and on address translation.
    '--experimental-peer-skip-client-san-verification=true',
    '--tls-min-version=TLS1.3',
    `--quota-backend-bytes=${QUOTA_BYTES}`,
    '--auto-compaction-mode=periodic',
    '--auto-compaction-retention=1h',
    ...('socket' in client
      ? [`--snapshot-count=${KEPT.aside}`, `--experimental-snapshot-catchup-entries=${KEPT.aside}`]
      : [`--snapshot-count=${KEPT.server}`]),
    '--max-wals=2',
    '--experimental-initial-corrupt-check=true',
    '--experimental-compact-hash-check-enabled=true',
    ...(progressEvery_s === undefined ? [] : [`--experimental-watch-progress-notify-interval=${progressEvery_s}s`]),
    '--logger=zap',
    '--log-outputs=stderr',
    '--log-level=warn',
    ...(isForcedNew ? [FORCED_NEW] : []),
  ]
}

/** Returns the URL of a socket, for messages and clients. */
export const socketUrl = ({ socket }: MemberSocket): string => `unix://${socket}`

/** etcd requires an address with a port here; it is advertised to other machines, which cannot use it. */
const NOWHERE = 'unix://localhost:0'

function clientUrls(client: MemberSide | MemberSocket): readonly string[] {
  const [listen, advertise] = 'socket' in client ? [[socketUrl(client)], [NOWHERE]] : [client.listen, client.advertise]
  return [`--listen-client-urls=${listen.join(',')}`, `--advertise-client-urls=${advertise.join(',')}`]
}

function sideArguments(side: '' | 'peer-', { certificateFile, keyFile, caFile, crlFile }: MemberSide): string[] {
  return [
    `--${side}cert-file=${certificateFile}`,
    `--${side}key-file=${keyFile}`,
    `--${side}trusted-ca-file=${caFile}`,
    `--${side}client-cert-auth=true`,
    ...(crlFile === undefined ? [] : [`--${side === '' ? 'client-' : side}crl-file=${crlFile}`]),
  ]
}
