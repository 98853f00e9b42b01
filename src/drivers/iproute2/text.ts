import type { DesiredNetwork, DesiredRoute, DesiredRule } from '../host.ts'

/** The network has no configuration file; reviews show its text under this name. */
export const SHOWN_AS = 'addresses and routes'

/** Returns one line for each address, route and rule, in iproute2's syntax, with interfaces by their ids. */
export function textOf({ addresses, routes, rules }: DesiredNetwork): string {
  const lines = [
    ...addresses.map(({ ip, prefix, interfaceId }) => `address ${ip}/${prefix} dev ${interfaceId}`),
    ...routes.map(routeText),
    ...rules.map(ruleText),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function routeText({ type, destination, via, interfaceId, metric, table }: DesiredRoute): string {
  const words = [
    type === 'blackhole' ? 'route blackhole' : 'route',
    destination,
    ...(via === undefined ? [] : [`via ${via}`]),
    ...(interfaceId === undefined ? [] : [`dev ${interfaceId}`]),
    ...(metric === undefined ? [] : [`metric ${metric}`]),
    `table ${table}`,
  ]
  return words.join(' ')
}

function ruleText({ priority, from, to, table, suppressPrefixLength }: DesiredRule): string {
  const target = to === undefined ? '' : ` to ${to}`
  const suppressed = suppressPrefixLength === undefined ? '' : ` suppress_prefixlength ${suppressPrefixLength}`
  return `rule ${priority}: from ${from}${target} lookup ${table}${suppressed}`
}
