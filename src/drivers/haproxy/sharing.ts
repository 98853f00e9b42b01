import type { ConfigView } from '../../model/sections.ts'
import type { FileContent } from '../driver.ts'
import { servedFrontends } from './resting.ts'
import { endpointText, quote } from './statement.ts'

/** How HAProxy shares its stick tables with those of the other nodes. */
export interface Sharing {
  /** Id of this node, by which HAProxys address each other. */
  readonly self: string
  /** Address on which HAProxy listens for the others. */
  readonly ip: string
  readonly port: number
  /** PEM: a certificate for this purpose only, followed by its key. */
  readonly own: string
  /**
   * PEM: the accepted certificates, including the own one. They are no authorities: each certificate is listed itself.
   */
  readonly named: string
  readonly others: readonly { readonly id: string; readonly ip: string; readonly port: number }[]
}

export const PEERS = 'fulcrum_peers'
/** Peer name of a node without others. */
const ALONE = 'fulcrum'
const OWN_FILE = 'node.peers'
const NAMED_FILE = 'nodes.peers'

export const sharesTable = (view: ConfigView): boolean => {
  for (const { enabled, persistence } of view.list('l7Backends')) if (enabled && persistence.type === 'ip') return true
  return servedFrontends(view).some(
    ({ enabled, rules = [] }) => enabled && rules.some((rule) => rule.do.type === 'limit'),
  )
}

/** Option of a shared stick table. */
export const SHARED = `peers ${PEERS}`

/** Peer name of this HAProxy: by it the old worker recognises the new one as its successor. */
export const localPeer = (sharing: Sharing | undefined): string => sharing?.self ?? ALONE

/**
 * Peers section with this HAProxy alone: at a reload the old worker passes its stick tables to the new one, but not in
 * the first seconds after a cold start, while it still waits for a peer to learn from. `account`: that of the workers,
 * one of which connects; the socket is created by the process that starts them.
 */
export const alone = (socket: string, account: string | undefined): readonly string[] => [
  `peers ${PEERS}`,
  `    bind unix@${quote(socket)}${account === undefined ? '' : ` user ${account}`} mode 600`,
  `    server ${ALONE}`,
]

/**
 * Peers section with other nodes, which receive each entry as it is made. Peers without a listed certificate are
 * refused. `transparent`: HAProxy must serve even if this address is missing.
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
