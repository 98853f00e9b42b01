import type { InterfacesReader } from '../context/interfaces.ts'
import type { MachineFacts, NetworkInterface } from '../model/machine-facts.ts'
import type { Membership } from './membership.ts'
import { askNode } from './questions.ts'

export const INTERFACES = '/interfaces'
const PATIENCE_MS = 2_000

interface Parts {
  /** Id of this node in configurations. */
  readonly nodeId: string
  readonly membership: Pick<Membership, 'members' | 'forward'>
  readonly facts: Pick<MachineFacts, 'interfaces'>
}

/** Reads this node's interfaces, and asks other nodes for theirs. */
export function createInterfaces({ nodeId: self, membership, facts }: Parts): InterfacesReader {
  return {
    nodeIds: () => [self, ...membership.members.all().flatMap(({ id }) => (id === self ? [] : [id]))],
    async of(nodeId) {
      if (nodeId === self) return await facts.interfaces()
      try {
        const asked = { nodeId, path: INTERFACES, body: {}, timeout_ms: PATIENCE_MS }
        // Sound: all nodes of this version answer the same.
        return (await askNode(membership, asked)) as readonly NetworkInterface[]
      } catch {
        return undefined
      }
    },
  }
}
