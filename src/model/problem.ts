import type { SectionName } from './sections.ts'

/** Why a configuration cannot be applied, and which record is to blame. */
export interface Problem {
  readonly section: SectionName | undefined
  readonly id: string | undefined
  readonly field: string | undefined
  readonly message: string
  /** Set instead if the configuration has no flaw but these records would lack what they need. */
  readonly usage?: readonly Usage[]
}

/** A record that needs another one. */
export interface Usage {
  readonly resource: string
  readonly id: string
  readonly name: string
  readonly field: string
}
