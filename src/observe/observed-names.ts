import { nameBasedId } from '../base/ids.ts'
import type { NamedBackend, NamedObject, NamedReal, ObjectNames } from '../stats/names.ts'
import type { ArchiveObserver, SeenObject } from '../stats/observer.ts'

interface Server extends NamedReal {
  readonly called: string
  readonly backend: string
}

/**
 * Returns the id of an object of an observed HAProxy. It is derived from kind and names alone, so it is the same on
 * every node and for ever.
 */
export function observedId({ kind, name, backend }: Pick<SeenObject, 'kind' | 'name' | 'backend'>): string {
  return nameBasedId(['haproxy', kind, ...(kind === 'server' ? [backend] : []), name].join('\0'))
}

/**
 * Names of the objects of an observed HAProxy in the statistics: those that HAProxy uses. Lists hold the objects of
 * HAProxy's latest answer; objects no longer listed stay known by id as long as the archive keeps any of their data.
 */
export class ObservedNames implements ObjectNames, ArchiveObserver {
  #version = 0
  readonly #byNumber = new Map<number, SeenObject>()
  readonly #frontends = new Map<string, NamedObject>()
  /** Every known backend, listed or not. */
  readonly #backends = new Map<string, NamedObject>()
  readonly #servers = new Map<string, Server>()
  #listedFrontends: readonly NamedObject[] = []
  #listedBackends: readonly NamedBackend[] = []
  #listedById: ReadonlyMap<string, NamedBackend> = new Map()

  get version(): number {
    return this.#version
  }

  know(objects: Iterable<SeenObject>): void {
    for (const object of objects) {
      if (this.#byNumber.has(object.objectId)) continue
      this.#byNumber.set(object.objectId, object)
      const { kind, name, backend } = object
      const id = observedId(object)
      if (kind === 'frontend') this.#frontends.set(id, { id, name, called: name })
      else if (kind === 'backend') this.#backends.set(id, { id, name, called: name })
      else this.#servers.set(id, { ripId: id, name, called: name, backend })
    }
    this.#version++
  }

  forget(objectIds: Iterable<number>): void {
    for (const number of objectIds) {
      const object = this.#byNumber.get(number)
      if (object === undefined) continue
      this.#byNumber.delete(number)
      const id = observedId(object)
      for (const known of [this.#frontends, this.#backends, this.#servers]) known.delete(id)
      this.#version++
    }
  }

  list(objectIds: Iterable<number>): void {
    const frontends: NamedObject[] = []
    const backends: NamedObject[] = []
    const reals = new Map<string, NamedReal[]>()
    for (const number of objectIds) {
      const object = this.#byNumber.get(number)
      if (object === undefined) continue
      const id = observedId(object)
      const { kind, name, backend } = object
      if (kind === 'frontend') frontends.push({ id, name, called: name })
      else if (kind === 'backend') backends.push({ id, name, called: name })
      else add(reals, backend, { ripId: id, name, called: name })
    }
    this.#listedFrontends = frontends
    this.#listedBackends = backends.map((backend) => ({ ...backend, reals: reals.get(backend.name) ?? [] }))
    this.#listedById = new Map(this.#listedBackends.map((backend) => [backend.id, backend]))
    this.#version++
  }

  frontends(): Iterable<NamedObject> {
    return this.#listedFrontends
  }
  backends(): Iterable<NamedBackend> {
    return this.#listedBackends
  }
  frontend(id: string): NamedObject | undefined {
    return this.#frontends.get(id)
  }

  /** A backend that is no longer listed is returned with all its known servers. */
  backend(id: string): NamedBackend | undefined {
    const listed = this.#listedById.get(id)
    const known = this.#backends.get(id)
    if (listed !== undefined || known === undefined) return listed
    return { ...known, reals: [...this.#servers.values()].filter(({ backend }) => backend === known.name) }
  }

  /** HAProxy knows a server only within its backend, so there is always exactly one. */
  backendsOfRip(ripId: string): readonly NamedBackend[] | undefined {
    const server = this.#servers.get(ripId)
    if (server === undefined) return undefined
    const id = observedId({ kind: 'backend', name: server.backend, backend: '' })
    return [{ id, name: server.backend, called: server.backend, reals: [server] }]
  }
}

function add<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
