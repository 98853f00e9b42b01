/** A search of the audit log; every given field must match. */
export interface AuditFilter {
  readonly limit: number
  /** Entries with smaller numbers only. */
  readonly before?: number | undefined
  /** ISO 8601, inclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Text to find in the entry, case-insensitive. */
  readonly text?: string | undefined
  readonly by?: string | undefined
  readonly endpoint?: string | undefined
  readonly address?: string | undefined
  readonly outcome?: string | undefined
}

export interface AuditEntry {
  readonly seq: number
  readonly at: string
  readonly [field: string]: unknown
}

export interface AuditReader {
  /** Newest first. */
  search(filter: AuditFilter): Promise<readonly AuditEntry[]>
}
