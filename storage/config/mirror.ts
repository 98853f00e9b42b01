import type { Change, RecordKey, RecordReader, StoredRecord } from './config-store.ts'

/** A stored record of the overlay: a tombstone hides what running has. */
export interface OverlayEntry extends RecordKey {
  readonly stored: StoredRecord | undefined
  readonly revision: number
  readonly changeId: string
  readonly actor: string
  readonly endpoint: string
  readonly at: string
}

const place = (scope: string, key: string) => `${scope}\0${key}`

/** Running and the candidate overlay in memory: the synchronous side of the store. */
export class Mirror {
  readonly #running = new Map<string, Map<string, RecordKey & { readonly stored: StoredRecord }>>()
  readonly #overlay = new Map<string, Map<string, OverlayEntry>>()

  readonly running: RecordReader = {
    get: (section, scope, key) => this.#running.get(section)?.get(place(scope, key))?.stored,
    list: (section, scope) => sorted(this.#running.get(section)?.values() ?? [], scope),
  }

  readonly candidate: RecordReader = {
    get: (section, scope, key) => {
      const entry = this.#overlay.get(section)?.get(place(scope, key))
      return entry === undefined ? this.running.get(section, scope, key) : entry.stored
    },
    list: (section, scope) => {
      const overlay = this.#overlay.get(section)
      const running = this.#running.get(section)
      if (overlay === undefined || overlay.size === 0) return this.running.list(section, scope)
      const merged: (RecordKey & { readonly stored: StoredRecord | undefined })[] = [...overlay.values()]
      for (const [where, record] of running ?? []) if (!overlay.has(where)) merged.push(record)
      return sorted(merged, scope)
    },
  }

  overlayEntry(key: RecordKey): OverlayEntry | undefined {
    return this.#overlay.get(key.section)?.get(place(key.scope, key.key))
  }

  setRunning(key: RecordKey, stored: StoredRecord | undefined): void {
    set(this.#running, key, stored === undefined ? undefined : { ...key, stored })
  }

  setOverlay(key: RecordKey, entry: OverlayEntry | undefined): void {
    set(this.#overlay, key, entry)
  }

  changes(): readonly Change[] {
    const all: OverlayEntry[] = []
    for (const section of this.#overlay.values()) all.push(...section.values())
    all.sort((a, b) => a.revision - b.revision)
    return all.map((entry) => ({
      id: entry.changeId,
      revision: entry.revision,
      section: entry.section,
      scope: entry.scope,
      key: entry.key,
      actor: entry.actor,
      endpoint: entry.endpoint,
      at: entry.at,
      before: this.running.get(entry.section, entry.scope, entry.key),
      after: entry.stored,
    }))
  }
}

function set<T>(sections: Map<string, Map<string, T>>, key: RecordKey, value: T | undefined): void {
  let section = sections.get(key.section)
  if (section === undefined) sections.set(key.section, (section = new Map()))
  if (value === undefined) section.delete(place(key.scope, key.key))
  else section.set(place(key.scope, key.key), value)
}

function sorted(
  records: Iterable<RecordKey & { readonly stored: StoredRecord | undefined }>,
  scope: string,
): readonly StoredRecord[] {
  const present: { key: string; stored: StoredRecord }[] = []
  for (const { stored, key, scope: where } of records) {
    if (stored !== undefined && where === scope) present.push({ key, stored })
  }
  present.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return present.map((record) => record.stored)
}
