/** A client that is bound to a real server. */
export interface StickEntry {
  /** Identifies the entry in this API: the client's address. */
  readonly key: string
  /** Firewall mark by which the kernel finds the service. */
  readonly mark: number
  /** A duration such as 1h 2m 3s. */
  readonly expires: string
  readonly clientIp: string
  readonly serviceIp: string
  readonly servicePort: number
}

export interface StickTablesReader {
  /** Refuses with NOT_FOUND if no running frontend has the id, with NOT_SUPPORTED on a machine without IPVS. */
  list(frontendId: string): Promise<readonly StickEntry[]>
}
export interface StickTables extends StickTablesReader {
  /**
   * Lets the next connection of a client, or of all clients if there is no key, be balanced afresh. Refuses as `list`
   * does, with NOT_FOUND for an unknown key, with IN_USE if all these clients were cleared too often; if only some
   * were, `left` counts them.
   */
  clear(frontendId: string, key: string | undefined): Promise<{ readonly isDryRun: boolean; readonly left: number }>
}
