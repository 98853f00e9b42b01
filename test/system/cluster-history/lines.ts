import { createHash } from 'node:crypto'
import { canonical } from '../../../src/base/canonical.ts'
import type { StoredClusterKey } from '../../../src/cluster/sealing.ts'
import type { Entry } from '../../../storage/config/entry.ts'

/** The protocol between a node of the history test and the test itself: one JSON object per line. */

/** The first line of the node's input. */
export interface NodeSettings {
  readonly id: string
  readonly folder: string
  readonly clusterId: string
  readonly history: string
  readonly key: StoredClusterKey
  /** The node's own member first. */
  readonly gateways: readonly string[]
  readonly credentials: { readonly ca: string; readonly certificate: string; readonly key: string }
  readonly checkpointEvery: number
  /** Prefix of the names of its operations; every start needs another. */
  readonly prefix: string
  readonly seed: number
  /** Leaves the comparison with the guard out of transactions. */
  readonly isUnguarded: boolean
}

/** Later commands: stop editing, report the content of the store, close everything and end. */
export type NodeCommand = 'rest' | 'show' | 'end'

export type Outcome = 'answered' | 'refused' | 'unknown' | 'broken'

export type NodeLine =
  | { readonly did: 'ready' | 'rest' }
  | { readonly did: 'begin'; readonly operation: string; readonly kind: string; readonly at_us: number }
  | {
      readonly did: 'end'
      readonly operation: string
      readonly outcome: Outcome
      readonly why: string
      readonly at_us: number
    }
  | { readonly did: 'show'; readonly shown: NodeShown }

export const SECTION = 'things'

/** A record, as the editors write it. */
export interface Thing {
  readonly id: string
  readonly name: string
  readonly weight: number
  readonly note?: string
  readonly bulk?: string
}

/** Fields that an editor adds to an entry. */
export interface Signed {
  /** Name of the operation. */
  readonly operation: string
  /** Records that had these revisions when the operation was decided; null: no record. */
  readonly expects: readonly { readonly id: string; readonly revision: number | null }[]
}

export type SignedEntry = Entry & Signed

/** Content of a store. Values are shortened, because they are only compared. */
export interface Shown {
  readonly sequence: number
  readonly revision: number
  /** The apply that waits for its confirmation. */
  readonly unconfirmed: string
  readonly running: readonly string[]
  readonly pending: readonly string[]
  readonly frozen: readonly string[]
  readonly revisions: readonly string[]
}

export interface NodeShown extends Shown {
  readonly position: number
  readonly halted: string
  readonly digest: string
}

/** Time of the machine's monotonic clock, which all its processes share. */
export const now_us = (): number => Number(process.hrtime.bigint() / 1000n)

function short(fact: unknown): string {
  if (typeof fact === 'string' || typeof fact === 'number') return String(fact)
  if (fact === undefined) return '-'
  return createHash('sha256').update(canonical(fact)).digest('hex').slice(0, 12)
}

/** Names and numbers as they are, a short hash of everything else. Undefined fields are ignored. */
export const row = (...facts: readonly unknown[]): string => facts.map(short).join(' ')
