import { request } from 'node:https'
import type { EtcdClient } from '../etcd/client.ts'
import type { PeerClient } from '../peers/peer-client.ts'
import type { Member, Members } from './members.ts'
import { clientUrl } from './node-address.ts'

const PATIENCE_MS = 2_000

/**
 * Returns the other node, if no third vote is counted; undefined in any other cluster, where votes decide which nodes
 * continue. A vote counts until etcd is known to have released it: a member that was only told to leave may still form
 * a majority elsewhere.
 */
export function partnerIn(members: Pick<Members, 'all' | 'mayVote'>, self: string): Member | undefined {
  const all = members.all()
  if (members.mayVote().size !== 2) return undefined
  return all.length === 2 && all.some(({ id }) => id === self) ? all.find(({ id }) => id !== self) : undefined
}

export interface PathsToPartner {
  readonly etcd: { readonly maintenance: Pick<EtcdClient['maintenance'], 'status'> }
  readonly peers: Pick<PeerClient, 'livenessOf'>
  /** Returns a node's API port, according to the configuration. */
  readonly apiPortOf: (nodeId: string) => number
}

/** Returns the part of a node that answers; undefined if none does, so that the node is off or cut off. */
export async function answeringPath(paths: PathsToPartner, partner: Member): Promise<string | undefined> {
  const { etcd, peers, apiPortOf } = paths
  if (peers.livenessOf(partner.id).isReachable) return 'its peer port'
  const [hasEtcd, hasApi] = await Promise.all([
    etcd.maintenance.status({ at: clientUrl(partner), timeout_ms: PATIENCE_MS }).then(yes, no),
    hasServer(partner.host, apiPortOf(partner.id)),
  ])
  if (hasEtcd) return 'its etcd'
  return hasApi ? 'its API' : undefined
}

const yes = () => true
const no = () => false

/** Sends nothing but the request: any answer means that the machine is on. */
function hasServer(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ host, port, method: 'HEAD', path: '/', rejectUnauthorized: false, timeout: PATIENCE_MS })
    asked.once('response', (response) => {
      response.resume()
      resolve(true)
      asked.destroy()
    })
    asked.once('timeout', () => asked.destroy())
    asked.on('error', () => resolve(false))
    asked.once('close', () => resolve(false))
    asked.end()
  })
}
