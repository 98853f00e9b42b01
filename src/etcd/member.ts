/** A side of a member on which it listens, and its mutual TLS there. The files are PEM, but for that of revocations. */
export interface MemberSide {
  /** Where it listens, such as `https://192.0.2.1:2380`. */
  readonly listen: readonly string[]
  /** Where others reach it. */
  readonly advertise: readonly string[]
  /** For both uses, server and client: a member asks its own gateway with it. It names where the member is reached. */
  readonly certificateFile: string
  readonly keyFile: string
  /** The authority of the other side's certificates. */
  readonly caFile: string
  /**
   * Certificates that are not accepted any more: DER, or every connection is refused. It is read anew for each
   * connection; those that are there stay.
   */
  readonly crlFile?: string
}

/** Where only programs of the same machine reach the member, that may open the file. */
export interface MemberSocket {
  readonly socket: string
}

export interface MemberSettings {
  readonly name: string
  readonly dataFolder: string
  readonly peer: MemberSide
  readonly client: MemberSide
  /** All members with this one, by name, and where their peers reach them. */
  readonly members: Readonly<Record<string, readonly string[]>>
  /** `existing`: it was added to a cluster that is there. Counts at the first start only, as `members` does. */
  readonly state: 'new' | 'existing'
  /** A name that only members of this cluster know; at the first start only. No secret. */
  readonly token: string
  /** Makes a cluster of this member alone, out of what it has. For one start, never twice. */
  readonly isForcedNew?: boolean
  /** Between notes of etcd to idle watches, in seconds; left out: ten minutes. */
  readonly progressEvery_s?: number
}

/** Settings of a member that no other machine asks. */
export type AsideSettings = Omit<MemberSettings, 'client'> & { readonly client: MemberSocket }

const QUOTA_BYTES = 512 * 2 ** 20
/**
 * How many entries a member has in memory, at least. They are most of its memory, so a member that serves no client has
 * few: another member that was away for longer gets the whole database instead.
 */
const KEPT = { server: 10_000, aside: 500 } as const
/** Makes a member form a cluster of itself alone. */
export const FORCED_NEW = '--force-new-cluster=true'

/**
 * The arguments of `etcd`. They are arguments because its configuration file knows no revocation lists; secrets are in
 * files that only etcd reads. Figures of the member are available only on the client side, with a certificate. Limits
 * of requests keep their defaults.
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

/** A name of a socket, as messages and clients have it. */
export const socketUrl = ({ socket }: MemberSocket): string => `unix://${socket}`

/** etcd wants something like a port there: what others are told is of no use to them. */
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
