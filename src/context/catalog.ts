import type { SectionRecords } from '../model/sections.ts'
import type { Rendered } from './rendered.ts'

/** One endpoint as roles see it. */
export interface CatalogEntry {
  readonly id: string
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly summary: string
}

export interface Catalog {
  list(): readonly CatalogEntry[]
  /** Returns the ids of the endpoints that a role grants; a default role follows the table. */
  grantedBy(role: SectionRecords['roles']): ReadonlySet<string>
}

/** Documents about the API. */
export interface ApiDocuments {
  openapi(): Rendered
  /** Returns a file of the documentation page; refuses with NOT_FOUND. */
  page(file: string): Rendered
}
