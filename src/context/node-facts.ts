import type { MachineFacts } from '../model/machine-facts.ts'

/** What a node says of itself where nobody has chosen yet, and what its settings are checked with. */
export interface NodeFacts extends Pick<
  MachineFacts,
  'clock' | 'conntrackSize' | 'consoleEnabled' | 'ssh' | 'timeZones'
> {
  /** TCP port of its API. */
  apiPort(): Promise<number>
  /** Milliseconds since 1970, by its clock. */
  now_ms(): Promise<number>
}

export interface NodeFactsReader {
  /** Facts of this node, or of another one of its cluster, which are refused with NODE_UNREACHABLE when it is away. */
  of(nodeId: string): NodeFacts
}
