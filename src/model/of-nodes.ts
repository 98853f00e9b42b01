import { type Static, Type } from 'typebox'
import { titled } from './fields.ts'

/** A node that is missing in an answer. */
const MissingNode = titled('MissingNode', {
  nodeId: Type.String({ description: 'Node.' }),
  why: Type.String({ description: 'Why the node is missing from the answer.' }),
})
export type MissingNode = Static<typeof MissingNode>

/** The fields beside `data` in the envelope of an answer over several nodes. */
export const OfNodes = Type.Object({
  nodes: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Ids of the nodes that the answer covers; absent if it covers only one.',
    }),
  ),
  missing: Type.Optional(
    Type.Array(MissingNode, {
      description: 'Other nodes of the cluster, which the answer does not cover; absent with `nodes`.',
    }),
  ),
})
