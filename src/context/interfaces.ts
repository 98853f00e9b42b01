import type { NetworkInterface } from '../model/machine-facts.ts'

/** The network interfaces of each node of the cluster, as they are now. */
export interface InterfacesReader {
  /** All nodes; on a node without a cluster, that one. */
  nodeIds(): readonly string[]
  /** The interfaces of one node. undefined: it does not answer within two seconds. */
  of(nodeId: string): Promise<readonly NetworkInterface[] | undefined>
}
