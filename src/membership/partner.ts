import { request } from 'node:https'
import type { EtcdClient } from '../etcd/client.ts'
import type { PeerClient } from '../peers/peer-client.ts'
import type { Member, Members } from './members.ts'
import { clientUrl } from './node-address.ts'

const PATIENCE_MS = 2_000

/**
 * The other node, if no third vote is counted; undefined in any other cluster, where votes decide which nodes go on. A
 * vote counts until etcd is known to have released it: a member that has only been told to go may still make a majority
 * elsewhere.
 */
export function partnerIn(members: Pick<Members, 'all' | 'mayVote'>, self: string): Member | undefined {
  const all = members.all()
  if (members.mayVote().size !== 2) return undefined
  return all.length === 2 && all.some(({ id }) => id === self) ? all.find(({ id }) => id !== self) : undefined
}

export interface PathsToPartner {
  readonly etcd: { readonly maintenance: Pick<EtcdClient['maintenance'], 'status'> }
  readonly peers: Pick<PeerClient, 'livenessOf'>
  /** Where the API of that node is, as the configuration says it. */
  readonly apiPortOf: (nodeId: string) => number
}

/** What of a node answers; undefined: nothing does, so it is off or cut off. */
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

/** Nothing but the request is sent: whatever answers, the machine is on. */
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
