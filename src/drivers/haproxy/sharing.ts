import type { ConfigView } from '../../model/sections.ts'
import type { FileContent } from '../driver.ts'
import { servedFrontends } from './resting.ts'
import { endpointText, quote } from './statement.ts'

/** How the HAProxy of a node of a cluster shares its stick tables with those of the others. */
export interface Sharing {
  /** Id of this node: HAProxies know each other by those. */
  readonly self: string
  /** Where it listens for the others. */
  readonly ip: string
  readonly port: number
  /** PEM: the key that it has for this alone, behind its certificate. */
  readonly own: string
  /** PEM: the certificates that count, its own among them. They are no authorities: each is named here itself. */
  readonly named: string
  readonly others: readonly { readonly id: string; readonly ip: string; readonly port: number }[]
}

export const PEERS = 'fulcrum_peers'
/** Name of a node without others. */
const ALONE = 'fulcrum'
const OWN_FILE = 'node.peers'
const NAMED_FILE = 'nodes.peers'

export const sharesTable = (view: ConfigView): boolean => {
  for (const { enabled, persistence } of view.list('l7Backends')) if (enabled && persistence.type === 'ip') return true
  return servedFrontends(view).some(
    ({ enabled, rules = [] }) => enabled && rules.some((rule) => rule.do.type === 'limit'),
  )
}

/** What a stick table says, so that it is shared. */
export const SHARED = `peers ${PEERS}`

/** Its name among peers: the old worker knows by it that a new one is its successor. */
export const localPeer = (sharing: Sharing | undefined): string => sharing?.self ?? ALONE

/**
 * A peer of itself: at a reload the old worker hands its stick tables to the new one. Not in the first seconds after a
 * cold start, while it still waits for a peer to learn from. `account`: that of the workers, one of which connects; the
 * socket is made by the process that starts them.
 */
export const alone = (socket: string, account: string | undefined): readonly string[] => [
  `peers ${PEERS}`,
  `    bind unix@${quote(socket)}${account === undefined ? '' : ` user ${account}`} mode 600`,
  `    server ${ALONE}`,
]

/**
 * The same with other nodes, which get each entry as it is made. A peer without one of the named certificates is
 * refused. `transparent`: HAProxy has to serve even if this address is missing.
 */
export function amongNodes({ self, ip, port, others }: Sharing, folder: string): readonly string[] {
  const files = `crt ${quote(`${folder}/${OWN_FILE}`)} ca-file ${quote(`${folder}/${NAMED_FILE}`)}`
  const tls = `ssl ${files} verify required ssl-min-ver TLSv1.3`
  return [
    `peers ${PEERS}`,
    `    bind ${endpointText(ip, port)} transparent ${tls}`,
    `    default-server ${tls}`,
    `    server ${self}`,
    ...others.map((other) => `    server ${other.id} ${endpointText(other.ip, other.port)}`),
  ]
}

export const sharingFiles = ({ own, named }: Sharing, folder: string): readonly FileContent[] => [
  { path: `${folder}/${OWN_FILE}`, content: own },
  { path: `${folder}/${NAMED_FILE}`, content: named },
]
