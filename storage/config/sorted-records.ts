import type { RecordKey } from './config-store.ts'

/**
 * Returns `sorted` with some records replaced, added or (undefined) removed, again sorted by key. Unchanged records are
 * copied in runs and not compared: most changes touch one record of thousands.
 */
export function mergeSorted<T>(
  sorted: readonly T[],
  keyOf: (record: T) => string,
  changes: ReadonlyMap<string, T | undefined>,
): readonly T[] {
  if (changes.size === 0) return sorted
  const result: T[] = []
  let from = 0
  // Sorted by code unit, independent of any language.
  for (const key of [...changes.keys()].toSorted()) {
    const at = firstFrom(sorted, keyOf, key, from)
    for (; from < at; from++) result.push(sorted[from] as T)
    const record = changes.get(key)
    if (record !== undefined) result.push(record)
    const next = sorted[at]
    if (next !== undefined && keyOf(next) === key) from = at + 1
  }
  for (; from < sorted.length; from++) result.push(sorted[from] as T)
  return result
}

/** Returns the index of the first record at or after `from` whose key is not less than `key`. */
function firstFrom<T>(sorted: readonly T[], keyOf: (record: T) => string, key: string, from: number): number {
  let [low, high] = [from, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keyOf(sorted[middle] as T) < key) low = middle + 1
    else high = middle
  }
  return low
}

/** Maps by section, then scope: a combined key would have to be built for every look-up. */
export type Sections<T extends { readonly key: string }> = Map<string, Map<string, SortedRecords<T>>>

export function setIn<T extends { readonly key: string }>(
  sections: Sections<T>,
  key: RecordKey,
  record: T | undefined,
): void {
  let scopes = sections.get(key.section)
  if (scopes === undefined) sections.set(key.section, (scopes = new Map()))
  let records = scopes.get(key.scope)
  if (records === undefined) scopes.set(key.scope, (records = new SortedRecords()))
  records.set(key.key, record)
}

/** Records by key. Lists are sorted by key; a list that was handed out is never changed. */
export class SortedRecords<T extends { readonly key: string }> {
  readonly byKey = new Map<string, T>()
  readonly #touched = new Map<string, T | undefined>()
  #sorted: readonly T[] = []

  set(key: string, record: T | undefined): void {
    if (record === undefined) this.byKey.delete(key)
    else this.byKey.set(key, record)
    this.#touched.set(key, record)
  }

  list(): readonly T[] {
    this.#sorted = mergeSorted(this.#sorted, (record) => record.key, this.#touched)
    this.#touched.clear()
    return this.#sorted
  }
}
