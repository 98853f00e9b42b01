import type { ConfigView } from '../model/sections.ts'

/** What earlier versions called the record, which was the only one. */
const EARLIER = 'this'

/** The id of this node in a configuration: `born` unless a full restore made it assume another identity. */
export const nodeIn = (view: ConfigView, born: string): string =>
  (view.get('nodeIdentities', born) ?? view.get('nodeIdentities', EARLIER))?.nodeId ?? born
