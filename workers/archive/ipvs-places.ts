import { destinationKey, type IpvsPlan, serviceOfKey } from '../../src/ipvs/names.ts'
import type { IpvsTable } from '../../src/ipvs/table.ts'

/**
 * Row of an entry that belongs to no object: another program made the service, or the running configuration no longer
 * has it.
 */
export const NO_ROW = -1

const EMPTY_PLAN: IpvsPlan = { version: -1, frontends: [], backends: [] }

/**
 * Maps the entries of the kernel's table to objects, by their index. Keys are compared only after a change of the
 * configuration or of the set of entries.
 */
export class IpvsPlaces {
  plan = EMPTY_PLAN
  /** Row of the frontend of each service. */
  serviceRows = new Int32Array(0)
  /** Row of the member of each destination. */
  destRows = new Int32Array(0)
  /** Row of the backend that owns each member row. */
  ownerRows = new Int32Array(0)
  /** Whether a row's replies pass through this node. */
  outbound: readonly boolean[] = []
  /** For each member row, how many of its services are in the table. */
  serviceCounts = new Int32Array(0)
  /** Keys of the entries, services first; the same key means the same entry. */
  keys: readonly string[] = []
  /** Changes with the plan, or with the entries or their order. */
  version = 0
  /** A number that is the same for the same entries in the same order, even after a restart. */
  identity = 0
  #layout = -1
  #isNewPlan = true

  take(plan: IpvsPlan): void {
    this.plan = plan
    this.#isNewPlan = true
  }

  get rowCount(): number {
    return this.ownerRows.length
  }

  /** Called after each reading. */
  follow(table: IpvsTable): void {
    if (!this.#isNewPlan && this.#layout === table.layout) return
    this.#isNewPlan = false
    this.#layout = table.layout
    this.version++
    const { frontends, backends } = this.plan
    const members = backends.flatMap((backend, index) =>
      backend.members.map(({ dests }) => ({ dests, backend, owner: frontends.length + index })),
    )
    const first = frontends.length + backends.length
    this.ownerRows = new Int32Array(first + members.length).fill(NO_ROW)
    this.outbound = [...frontends, ...backends, ...members.map(({ backend }) => backend)].map(
      ({ isOutboundSeen }) => isOutboundSeen,
    )
    const services = new Map(frontends.flatMap((one, row) => one.services.map((key) => [key, row] as const)))
    const dests = new Map<string, number>()
    for (const [index, { dests: keys, owner }] of members.entries()) {
      this.ownerRows[first + index] = owner
      for (const key of keys) dests.set(key, first + index)
    }
    this.#look(table, services, dests)
    this.#countServices(first, members)
  }

  #look(table: IpvsTable, services: ReadonlyMap<string, number>, dests: ReadonlyMap<string, number>): void {
    const [serviceKeys, destKeys]: [string[], string[]] = [[], []]
    this.serviceRows = new Int32Array(table.services.count)
    this.destRows = new Int32Array(table.dests.count)
    for (let service = 0; service < table.services.count; service++) {
      const name = table.services.key(service)
      serviceKeys.push(name)
      this.serviceRows[service] = services.get(name) ?? NO_ROW
      for (let dest = table.destStart[service] ?? 0; dest < (table.destStart[service + 1] ?? 0); dest++) {
        const key = destinationKey(name, table.dests.key(dest))
        destKeys.push(key)
        this.destRows[dest] = dests.get(key) ?? NO_ROW
      }
    }
    this.keys = [...serviceKeys, ...destKeys]
    this.identity = hashOf(this.keys)
  }

  #countServices(first: number, members: readonly { readonly dests: readonly string[] }[]): void {
    const there = new Set(this.keys.slice(0, this.serviceRows.length))
    this.serviceCounts = new Int32Array(this.ownerRows.length)
    for (const [index, { dests }] of members.entries())
      this.serviceCounts[first + index] = dests.filter((key) => there.has(serviceOfKey(key))).length
  }
}

/** FNV-1a over all keys; never 0. */
function hashOf(keys: readonly string[]): number {
  let hash = 0x811c9dc5
  for (const key of keys)
    for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash >>> 0 || 1
}
