import type { SectionName, SectionRecords } from '../model/sections.ts'

export interface SectionReader<N extends SectionName> {
  /** The record in the candidate; refuses with NOT_FOUND. Remembers its revision for the ETag. */
  get(id: string): SectionRecords[N]
  find(id: string): SectionRecords[N] | undefined
  /** Like `get` for a record that need not be there; If-Match never fits one that is not. */
  settings(id: string): SectionRecords[N] | undefined
  /** All records of the candidate, ordered by id. */
  list(): readonly SectionRecords[N][]
}

/**
 * Edits of one request. They are checked at once (schema of the record, unique name, references, If-Match) and become
 * one atomic, durable write when the handler returns; a refusal leaves nothing behind.
 */
export interface SectionEditor<N extends SectionName> extends SectionReader<N> {
  create(record: SectionRecords[N]): void
  /**
   * Creates the record, or replaces the whole of it. `without`: what settings are that nobody has stored; those that
   * are just that stay unstored.
   */
  put(record: SectionRecords[N], without?: Omit<SectionRecords[N], 'id'>): void
  /** Undefined values in `patch` keep what is stored. */
  merge(id: string, patch: { readonly [K in keyof SectionRecords[N]]?: SectionRecords[N][K] | undefined }): void
  /** Refuses with IN_USE when another record needs this one. */
  refuseInUse(id: string): void
  remove(id: string): void
}
