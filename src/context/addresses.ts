/** A floating IP that a node holds. */
export interface HeldAddress {
  readonly ip: string
  /** ISO 8601: when its daemon first saw the address there. */
  readonly since: string
}

/** A node's report on its floating IPs. */
export interface NodeAddresses {
  /** Whether it may take addresses over from other nodes; null if addresses do not move, as in trial. */
  readonly isReady: boolean | null
  /** Why it may not, as half a sentence. */
  readonly why: string | undefined
  readonly held: readonly HeldAddress[]
}

export interface AddressesReader {
  /** Returns the addresses by node id. A node that does not answer within two seconds is left out. */
  all(): Promise<ReadonlyMap<string, NodeAddresses>>
}

export interface AddressesActor extends AddressesReader {
  /**
   * Moves a floating IP, and those that move together with it, to another node; resolves when that node holds it.
   * Refuses a node that is in no cluster, that cannot have the address, does not answer, is not ready, or is in
   * maintenance.
   */
  move(floatingIpId: string, nodeId: string): Promise<void>
}
