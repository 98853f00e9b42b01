import type { ClusterTrouble } from './node-conditions.ts'

interface Named {
  readonly id: string
  readonly name: string
}

/** What one node sees of its cluster. */
export interface ClusterView {
  readonly self: string
  readonly hasQuorum: boolean
  readonly nodes: readonly (Named & { readonly since: string })[]
  readonly witness: Named | undefined
  isReachable(id: string): boolean
}

/**
 * Returns whether this node reports what concerns the whole cluster: the reachable node that joined first does. A node
 * without a majority leaves that to the others.
 */
export function isSpeaker(view: ClusterView | undefined): boolean {
  if (view === undefined) return true
  if (!view.hasQuorum) return false
  const inOrder = view.nodes.toSorted((a, b) => a.since.localeCompare(b.since) || a.id.localeCompare(b.id))
  return inOrder.find(({ id }) => id === view.self || view.isReachable(id))?.id === view.self
}

/** Returns what is wrong in the cluster. */
export function troubleOf(view: ClusterView | undefined): readonly ClusterTrouble[] {
  if (view === undefined) return []
  const { self, nodes, witness, hasQuorum } = view
  const own = { type: 'quorum', id: self, name: nodes.find(({ id }) => id === self)?.name ?? self }
  const away = ({ id }: Named) => id !== self && !view.isReachable(id)
  const lost = (type: string, { id, name }: Named) => ({
    object: { type, id, name },
    text: `${type} ${name} is unreachable`,
  })
  return [
    ...(hasQuorum ? [] : [{ object: own, text: `node ${own.name} has no majority: no changes are possible` }]),
    ...nodes.filter(away).map((node) => lost('node', node)),
    ...(witness === undefined ? [] : [witness].filter(away).map((one) => lost('witness', one))),
  ]
}
