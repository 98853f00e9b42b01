import type { Problem } from '../model/problem.ts'
import { servedFrontends } from '../drivers/keepalived/services.ts'
import { nodeIn } from '../drivers/this-node.ts'
import { canonicalIp } from '../base/ip-network.ts'
import { parsePorts } from '../model/ports.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Address } from '../settings.ts'

/** Addresses that stand for all addresses of the machine. */
export const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

export const overlap = (a: Address, b: Address): boolean =>
  a.port === b.port && (canonicalIp(a.host) === canonicalIp(b.host) || ANY.has(a.host) || ANY.has(b.host))

export interface OwnPlace {
  /** The program that listens there, for messages. */
  readonly owner: string
  readonly place: Address
}

/**
 * Returns a problem for each frontend that would take a port of the appliance itself. HAProxy could share an address
 * with the API for a while, but after the next start nobody would reach the API.
 */
export function portProblems(view: ConfigView, nodeId: string, places: readonly OwnPlace[]): readonly Problem[] {
  const stored = view.get('userInterfaces', nodeIn(view, nodeId))
  const ssh = { owner: 'sshd', place: { host: '0.0.0.0', port: stored?.sshPort ?? 0 } }
  const own = stored?.sshEnabled === true ? [...places, ssh] : places
  const claims = [
    ...[...view.list('l7Frontends')].map((frontend) => ({ section: 'l7Frontends', ...frontend }) as const),
    // The kernel balances all packets to these ports, whatever listens there.
    ...[...view.list('l4Frontends')]
      .filter(({ protocol }) => protocol === 'tcp')
      .map((frontend) => ({ section: 'l4Frontends', ...frontend }) as const),
    // Packets from the rewritten port are taken for answers of the frontend.
    ...servedFrontends(view).flatMap(({ frontend, rewrittenPort }) =>
      rewrittenPort === undefined || frontend.protocol !== 'tcp'
        ? []
        : [{ section: 'l4Frontends', ...frontend, ports: String(rewrittenPort) } as const],
    ),
  ]
  return claims.flatMap(({ section, id, ip, ports, enabled }): readonly Problem[] => {
    if (!enabled) return []
    const ranges = parsePorts(ports) ?? []
    const taken = own.find(({ place }) =>
      ranges.some(
        ({ first, last }) =>
          first <= place.port && place.port <= last && overlap(place, { host: ip, port: place.port }),
      ),
    )
    if (taken === undefined) return []
    const message = `port ${taken.place.port} on ${ip} is used by ${taken.owner}`
    return [{ section, id, field: 'ports', message }]
  })
}
