import type { RecordKey } from './config-store.ts'

/** The key of a record in LMDB. */
export type StoreKey = [section: string, scope: string, key: string]

export const encode = ({ section, scope, key }: RecordKey): StoreKey => [section, scope, key]
export const decode = ([section, scope, key]: StoreKey): RecordKey => ({ section, scope, key })

/** Revisions sort as text. */
export const padded = (revision: number) => String(revision).padStart(12, '0')
