import { THIS_NODE } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'

/** Who this node is in a configuration: `born` unless a full restore made it assume another identity. */
export const nodeIn = (view: ConfigView, born: string): string => view.get('nodeIdentities', THIS_NODE)?.nodeId ?? born
