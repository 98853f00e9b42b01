import type { MachineFacts } from '../model/machine-facts.ts'

/** Facts about a node: the defaults of its settings, and the readings that settings are checked against. */
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
  /** Returns facts about this node or another one of its cluster; refuses with NODE_UNREACHABLE if that one is away. */
  of(nodeId: string): NodeFacts
}
