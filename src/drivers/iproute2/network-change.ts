import type { DesiredNetwork, DesiredRoute, DesiredRule } from '../host.ts'

const MAIN_TABLE = 254

/** One route or rule that came, went or leads elsewhere. */
export interface RouteChange {
  /** CIDR; for a rule without a destination, everything. */
  readonly destination: string
  /** CIDR of the packets' source, for a rule. */
  readonly source: string | undefined
}

export interface NetworkChange {
  /** Addresses that an interface loses, even when another one gets them. */
  readonly removedAddresses: readonly string[]
  /** Routes and rules that were added, removed or changed. */
  readonly routes: readonly RouteChange[]
}

/** What of a change can cut a connection off. */
export function networkChange(running: DesiredNetwork, desired: DesiredNetwork): NetworkChange {
  const kept = new Set(desired.addresses.map(placeOf))
  const removed = running.addresses.filter((address) => !kept.has(placeOf(address)))
  const rules = [...running.rules, ...desired.rules]
  // A route of a table of its own concerns the packets that are sent there.
  const routes = differing(running.routes, desired.routes).flatMap(({ destination, table }): readonly RouteChange[] =>
    table === MAIN_TABLE
      ? [{ destination, source: undefined }]
      : rules.filter((rule) => rule.table === table).map((rule) => ({ destination, source: rule.from })),
  )
  const moved = differing(running.rules, desired.rules)
    .filter((rule) => rule.table !== MAIN_TABLE)
    .map((rule) => ({ destination: targetOf(rule), source: rule.from }))
  const unique = new Map([...routes, ...moved].map((change) => [`${change.destination} ${change.source}`, change]))
  return { removedAddresses: removed.map(({ ip }) => ip), routes: [...unique.values()] }
}

const placeOf = ({ ip, interfaceId }: DesiredNetwork['addresses'][number]): string => `${interfaceId} ${ip}`
const targetOf = ({ to, from }: DesiredRule): string => to ?? (from.includes(':') ? '::/0' : '0.0.0.0/0')

function differing<T extends DesiredRoute | DesiredRule>(before: readonly T[], after: readonly T[]): readonly T[] {
  const [old, new_] = [
    new Set(before.map((item) => JSON.stringify(item))),
    new Set(after.map((item) => JSON.stringify(item))),
  ]
  return [
    ...before.filter((item) => !new_.has(JSON.stringify(item))),
    ...after.filter((item) => !old.has(JSON.stringify(item))),
  ]
}
