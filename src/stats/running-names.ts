import type { RealServer } from '../model/real-server.ts'
import type { ConfigView } from '../model/sections.ts'
import type { NamedBackend, NamedObject, ObjectNames } from './names.ts'

interface Names {
  readonly frontends: ReadonlyMap<string, NamedObject>
  readonly backends: ReadonlyMap<string, NamedBackend>
  readonly backendsOfRip: ReadonlyMap<string, readonly NamedBackend[]>
}

interface Group extends NamedObject {
  readonly reals: readonly { readonly ripId: string }[]
}

/** The records that contain the names. */
interface Records {
  readonly frontends: readonly NamedObject[]
  readonly backends: readonly Group[]
  readonly reals: readonly RealServer[]
}

/** Sections of a layer. */
const LAYERS = {
  4: { frontends: 'l4Frontends', backends: 'l4Backends' },
  7: { frontends: 'l7Frontends', backends: 'l7Backends' },
} as const

/**
 * The names for the statistics: looked at when the running configuration changes, made again when a name or member
 * changed.
 */
export class RunningNames implements ObjectNames {
  readonly #running: ConfigView
  readonly #revision: () => number
  readonly #layer: keyof typeof LAYERS
  #records: Records | undefined
  #names: Names | undefined
  #states: ReadonlyMap<string, RealServer['state']> = new Map()
  #of = -1
  #version = -1
  #statesVersion = -1

  constructor(running: ConfigView, revision: () => number, layer: keyof typeof LAYERS = 7) {
    this.#running = running
    this.#revision = revision
    this.#layer = layer
  }

  get version(): number {
    this.#current()
    return this.#version
  }
  get states(): number {
    this.#current()
    return this.#statesVersion
  }
  state(ripId: string): RealServer['state'] | undefined {
    this.#current()
    return this.#states.get(ripId)
  }
  frontends(): Iterable<NamedObject> {
    return this.#current().frontends.values()
  }
  backends(): Iterable<NamedBackend> {
    return this.#current().backends.values()
  }
  frontend(id: string): NamedObject | undefined {
    return this.#current().frontends.get(id)
  }
  backend(id: string): NamedBackend | undefined {
    return this.#current().backends.get(id)
  }
  backendsOfRip(ripId: string): readonly NamedBackend[] | undefined {
    return this.#current().backendsOfRip.get(ripId)
  }

  #current(): Names {
    const revision = this.#revision()
    if (this.#names !== undefined && this.#of === revision) return this.#names
    const records = read(this.#running, this.#layer)
    // Most applies change a weight or a state: texts rendered with these names stay valid.
    if (this.#names === undefined || this.#records === undefined || !sameNames(this.#records, records)) {
      this.#names = namesOf(records)
      this.#version = revision
    }
    const states = new Map(records.reals.map(({ id, state }) => [id, state]))
    if (!sameStates(this.#states, states)) this.#statesVersion = revision
    this.#states = states
    this.#records = records
    this.#of = revision
    return this.#names
  }
}

function read(running: ConfigView, layer: keyof typeof LAYERS): Records {
  const { frontends, backends } = LAYERS[layer]
  return {
    frontends: [...running.list(frontends)],
    backends: [...running.list(backends)],
    reals: [...running.list('realServers')],
  }
}

function sameNames(before: Records, after: Records): boolean {
  const sameMembers = (a: Group, b: Group) =>
    a.reals === b.reals || sameList(a.reals, b.reals, (one, other) => one.ripId === other.ripId)
  return (
    sameList(before.frontends, after.frontends, sameName) &&
    sameList(before.backends, after.backends, (a, b) => sameName(a, b) && sameMembers(a, b)) &&
    sameList(before.reals, after.reals, sameName)
  )
}

function sameStates(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): boolean {
  if (before.size !== after.size) return false
  for (const [id, state] of after) if (before.get(id) !== state) return false
  return true
}

const sameName = (a: NamedObject, b: NamedObject) => a.id === b.id && a.name === b.name

/** Records are never changed in place, so most need no comparison. */
function sameList<T>(before: readonly T[], after: readonly T[], same: (a: T, b: T) => boolean): boolean {
  if (before.length !== after.length) return false
  for (const [index, one] of before.entries()) {
    const other = after[index]
    if (other === undefined || (one !== other && !same(one, other))) return false
  }
  return true
}

function namesOf(records: Records): Names {
  const realNames = new Map<string, string>()
  const backendsOfRip = new Map<string, NamedBackend[]>()
  for (const { id, name } of records.reals) {
    realNames.set(id, name)
    backendsOfRip.set(id, [])
  }
  const backends = new Map<string, NamedBackend>()
  for (const { id, name, reals } of records.backends) {
    const named = reals.map(({ ripId }) => ({ ripId, name: realNames.get(ripId) ?? ripId }))
    const backend = { id, name, reals: named }
    backends.set(id, backend)
    for (const { ripId } of reals) backendsOfRip.get(ripId)?.push(backend)
  }
  const frontends = new Map<string, NamedObject>()
  for (const { id, name } of records.frontends) frontends.set(id, { id, name })
  return { frontends, backends, backendsOfRip }
}
