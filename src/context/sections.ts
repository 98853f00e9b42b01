import type { SectionName, SectionRecords } from '../model/sections.ts'

export interface SectionReader<N extends SectionName> {
  /** Returns the record in the candidate and remembers its revision for the ETag; refuses with NOT_FOUND. */
  get(id: string): SectionRecords[N]
  find(id: string): SectionRecords[N] | undefined
  /** Like `get` for a record that need not exist; If-Match never matches a missing one. */
  settings(id: string): SectionRecords[N] | undefined
  /** Returns all records of the candidate, ordered by id. */
  list(): readonly SectionRecords[N][]
}

/**
 * The edits of one request. They are checked at once (schema of the record, unique name, references, If-Match) and
 * become one atomic, durable write when the handler returns; a refusal leaves nothing behind.
 */
export interface SectionEditor<N extends SectionName> extends SectionReader<N> {
  create(record: SectionRecords[N]): void
  /**
   * Creates or replaces the record. `without` holds the values of settings that were never stored; a record equal to it
   * stays unstored.
   */
  put(record: SectionRecords[N], without?: Omit<SectionRecords[N], 'id'>): void
  /** Undefined values in `patch` keep the stored ones. */
  merge(id: string, patch: { readonly [K in keyof SectionRecords[N]]?: SectionRecords[N][K] | undefined }): void
  /** Refuses with IN_USE if another record needs this one. */
  refuseInUse(id: string): void
  remove(id: string): void
}
