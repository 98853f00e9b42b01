/** A floating IP that a node has. */
export interface HeldAddress {
  readonly ip: string
  /** ISO 8601: since when its daemon has seen it there. */
  readonly since: string
}

/** What a node says of its floating IPs. */
export interface NodeAddresses {
  /** Whether it may take addresses from other nodes; null where none move, as in trial. */
  readonly isReady: boolean | null
  /** Why not, as half a sentence. */
  readonly why: string | undefined
  readonly held: readonly HeldAddress[]
}

export interface AddressesReader {
  /** Addresses by node id. A node that does not answer within two seconds is left out. */
  all(): Promise<ReadonlyMap<string, NodeAddresses>>
}

export interface AddressesActor extends AddressesReader {
  /**
   * Has another node take a floating IP, with all that move together with it; resolves when it has it. Refuses a node
   * that is in no cluster, that cannot have the address, does not answer, is not ready, or is in maintenance.
   */
  move(floatingIpId: string, nodeId: string): Promise<void>
}
