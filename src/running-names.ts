import type { ConfigView } from './model/sections.ts'
import type { NamedBackend, NamedObject, ObjectNames } from './stats/names.ts'

interface Names {
  readonly frontends: ReadonlyMap<string, NamedObject>
  readonly backends: ReadonlyMap<string, NamedBackend>
  readonly backendsOfRip: ReadonlyMap<string, readonly NamedBackend[]>
}

/** What the statistics call things: read from running once per revision. */
export class RunningNames implements ObjectNames {
  readonly #running: ConfigView
  readonly #revision: () => number
  #names: Names | undefined
  #of = -1

  constructor(running: ConfigView, revision: () => number) {
    this.#running = running
    this.#revision = revision
  }

  get version(): number {
    return this.#revision()
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
    if (this.#names === undefined || this.#of !== this.version) {
      this.#names = read(this.#running)
      this.#of = this.version
    }
    return this.#names
  }
}

function read(running: ConfigView): Names {
  const realNames = new Map<string, string>()
  const backendsOfRip = new Map<string, NamedBackend[]>()
  for (const { id, name } of running.list('realServers')) {
    realNames.set(id, name)
    backendsOfRip.set(id, [])
  }
  const backends = new Map<string, NamedBackend>()
  for (const { id, name, reals } of running.list('l7Backends')) {
    const named = reals.map(({ ripId }) => ({ ripId, name: realNames.get(ripId) ?? ripId }))
    const backend = { id, name, reals: named }
    backends.set(id, backend)
    for (const { ripId } of reals) backendsOfRip.get(ripId)?.push(backend)
  }
  const frontends = new Map<string, NamedObject>()
  for (const { id, name } of running.list('l7Frontends')) frontends.set(id, { id, name })
  return { frontends, backends, backendsOfRip }
}
