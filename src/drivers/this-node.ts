import type { ConfigView } from '../model/sections.ts'

/** Node id in records of earlier versions, which had only one. */
const EARLIER = 'this'

/** Returns the id of this node in a configuration: `born` unless a full restore has given it another identity. */
export const nodeIn = (view: ConfigView, born: string): string =>
  (view.get('nodeIdentities', born) ?? view.get('nodeIdentities', EARLIER))?.nodeId ?? born
