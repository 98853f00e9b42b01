import { setTimeout as sleep } from 'node:timers/promises'
import { isNodeUpdateTold, NODE_UPDATE, type NodeUpdate, type NodeUpdateTold } from '../machine/updates/node-update.ts'
import { RollingUpdate, type SeenCluster } from '../machine/updates/rolling-update.ts'
import type { Updates } from '../machine/updates/updates.ts'
import { packageOf } from '../machine/units.ts'
import type { Addresses } from '../membership/addresses.ts'
import { askNode } from '../membership/questions.ts'
import type { Node } from './node.ts'

/** A node answers at the start of its update before it refreshes anything; only its disk may be slow. */
const PATIENCE_MS = 10_000

/** Returns this node's position in its cluster's log, and why it halted. */
export function standingOf({ membership: { cluster } }: Node): Pick<NodeUpdateTold, 'sequence' | 'halted'> {
  const halted = cluster?.log.halted
  return { sequence: cluster?.position ?? 0, ...(halted === undefined ? {} : { halted }) }
}

/** Creates the updates of all nodes, with this node's view of the cluster. */
export function createRolling(node: Node, updates: Updates, addresses: Addresses): RollingUpdate {
  const { machine, membership, nodeId: self, events } = node
  const look = async (): Promise<SeenCluster | undefined> => {
    const state = await membership.state()
    if (state === undefined) return undefined
    const told = await addresses.all()
    const nodes = state.nodes.map(({ id, name, state: reach, isVoter, maintenance }) => {
      const { isReady, held = [] } = told.get(id) ?? {}
      return {
        id,
        name,
        isReached: reach === 'online',
        isVoter,
        isMaintained: maintenance !== undefined,
        isReady: isReady === true,
        holds: held.length,
      }
    })
    return { sequence: state.sequence, nodes }
  }
  const ask = async (nodeId: string, update: NodeUpdate): Promise<NodeUpdateTold> => {
    if (nodeId === self) return await updates.shareOf(update)
    const told = await askNode(membership, { nodeId, path: NODE_UPDATE, body: update, timeout_ms: PATIENCE_MS })
    if (!isNodeUpdateTold(told)) throw new Error('this version of Fulcrum cannot read its answer')
    return told
  }
  return new RollingUpdate({
    ...node,
    packageOf,
    look,
    ask,
    isDryRun: !machine.touchesPackages,
    tell: (data) => events.publish('cluster', data),
    wait: (ms, signal) => sleep(ms, undefined, { ref: false, signal }),
  })
}
