import type { NetworkInterface } from '../model/machine-facts.ts'

/** The present network interfaces of each node of the cluster. */
export interface InterfacesReader {
  /** Ids of all nodes; without a cluster, of this one. */
  nodeIds(): readonly string[]
  /** Returns the interfaces of one node; undefined if it does not answer within two seconds. */
  of(nodeId: string): Promise<readonly NetworkInterface[] | undefined>
}
