import { pace } from '../base/turns.ts'
import { rowKey } from './live-plan.ts'
import type { NamedBackend, NamedReal, ObjectNames } from './names.ts'

/** A backend, or a real server in it. */
export interface NamedMember {
  readonly backend: NamedBackend
  readonly real?: NamedReal
}

/** The objects of a layer and the rows of their figures; the row is negative for those that have none. */
export interface Places {
  readonly frontends: Int32Array
  /** Each backend stands before its real servers. */
  readonly members: readonly NamedMember[]
  readonly rows: Int32Array
}

interface Found extends Places {
  readonly version: number
  readonly layout: number
}

/** Row numbers, which change with `layout`. */
export interface RowIndex {
  layout(): number
  row(key: string): number | undefined
}

const NOWHERE = -1

/**
 * The rows of the figures of all objects. Keys are texts, which cost more than the reads that use them: they are made
 * once for each version of the names and each layout, not on each pass over all objects.
 */
export class PlacedObjects {
  readonly names: ObjectNames
  #found: Found | undefined

  constructor(names: ObjectNames) {
    this.names = names
  }

  /** Makes the keys with turns in between; the result belongs to the layout at its end. */
  async at(index: RowIndex): Promise<Places> {
    const { names } = this
    for (;;) {
      const [version, layout] = [names.version, index.layout()]
      if (this.#found?.version === version && this.#found.layout === layout) return this.#found
      this.#found = { version, layout, ...(await place(names, index)) }
    }
  }
}

async function place(names: ObjectNames, index: RowIndex): Promise<Places> {
  const pause = pace()
  const [frontends, members, rows]: [number[], NamedMember[], number[]] = [[], [], []]
  const rowOf = (key: string) => index.row(key) ?? NOWHERE
  for (const { id, called = id } of names.frontends()) {
    frontends.push(rowOf(rowKey('frontend', called, '')))
    await pause()
  }
  for (const backend of names.backends()) {
    const proxy = backend.called ?? backend.id
    members.push({ backend })
    rows.push(rowOf(rowKey('backend', proxy, '')))
    for (const real of backend.reals) {
      members.push({ backend, real })
      rows.push(rowOf(rowKey('server', proxy, real.called ?? real.ripId)))
      await pause()
    }
  }
  return { frontends: Int32Array.from(frontends), members, rows: Int32Array.from(rows) }
}
