/** One client that stays with its real server. */
export interface StickEntry {
  /** Names the entry in this API: the client's address. */
  readonly key: string
  /** Firewall mark by which the kernel finds the service. */
  readonly mark: number
  /** Such as 1h 2m 3s. */
  readonly expires: string
  readonly clientIp: string
  readonly serviceIp: string
  readonly servicePort: number
}

export interface StickTablesReader {
  /** Refuses with NOT_FOUND when no frontend that runs has the id, with NOT_SUPPORTED on a machine without IPVS. */
  list(frontendId: string): Promise<readonly StickEntry[]>
}
export interface StickTables extends StickTablesReader {
  /**
   * The next connection of a client, or of all of them without a key, is balanced afresh. Refuses as `list` does, with
   * NOT_FOUND for a key that is not there, with IN_USE when all that were meant were cleared too often; `left` counts
   * those among others.
   */
  clear(frontendId: string, key: string | undefined): Promise<{ readonly isDryRun: boolean; readonly left: number }>
}
