import { parsePorts } from '../../model/ports.ts'
import type { L7Frontend } from '../../model/layer7.ts'
import type { PortClaim } from '../driver.ts'
import type { Problem } from '../../model/problem.ts'
import { canonicalIp, isIpv6, isWildcard } from './address.ts'

interface Claim {
  readonly frontend: L7Frontend
  readonly address: string
  readonly wildcard: boolean
  readonly ipv6: boolean
  readonly first: number
  readonly last: number
}

/**
 * Returns the clashes of enabled frontends with the same port and address. The kernel would let HAProxy bind both and
 * distribute connections between them at random, so the checker does not notice.
 */
export function portClashes(frontends: Iterable<L7Frontend>): readonly Problem[] {
  const claims = [...frontends].filter(({ enabled }) => enabled).flatMap(claimsOf)
  claims.sort((a, b) => a.first - b.first || (a.frontend.id < b.frontend.id ? -1 : 1))
  const problems: Problem[] = []
  const reported = new Set<string>()
  let open: Claim[] = []
  for (const claim of claims) {
    open = open.filter(({ last }) => last >= claim.first)
    for (const other of open) {
      if (!meet(claim, other)) continue
      const pair = `${claim.frontend.id} ${other.frontend.id}`
      if (reported.has(pair)) continue
      reported.add(pair)
      problems.push(clash(claim, other))
    }
    open.push(claim)
  }
  return problems
}

/** Maximum number of ports that are tried before a reload, each by listening for a moment. */
const PORTS_TRIED_MAX = 1000

/** Returns the ports of `desired` that no frontend of `running` holds. */
export function newPorts(running: Iterable<L7Frontend>, desired: Iterable<L7Frontend>): readonly PortClaim[] {
  const held = [...running].filter(({ enabled }) => enabled).flatMap(claimsOf)
  const ports: PortClaim[] = []
  for (const claim of [...desired].filter(({ enabled }) => enabled).flatMap(claimsOf)) {
    const related = held.filter((other) => meet(claim, other))
    for (let port = claim.first; port <= claim.last && ports.length < PORTS_TRIED_MAX; port++) {
      if (related.some(({ first, last }) => first <= port && port <= last)) continue
      ports.push({ ip: claim.frontend.ip, port, claimant: `frontend ${claim.frontend.id}` })
    }
  }
  return ports
}

function claimsOf(frontend: L7Frontend): readonly Claim[] {
  const address = canonicalIp(frontend.ip)
  const wildcard = isWildcard(frontend.ip)
  const ipv6 = isIpv6(frontend.ip)
  return (parsePorts(frontend.ports) ?? []).map(({ first, last }) => ({
    frontend,
    address,
    wildcard,
    ipv6,
    first,
    last,
  }))
}

function meet(a: Claim, b: Claim): boolean {
  return a.ipv6 === b.ipv6 && (a.wildcard || b.wildcard || a.address === b.address)
}

function clash(claim: Claim, other: Claim): Problem {
  const message =
    claim.frontend.id === other.frontend.id
      ? `Frontend ${claim.frontend.name} lists port ${claim.first} twice`
      : `Frontend ${claim.frontend.name} uses port ${claim.first} of ${claim.frontend.ip}, which frontend ${other.frontend.name} uses on ${other.frontend.ip}`
  return { section: 'l7Frontends', id: claim.frontend.id, field: 'ports', message }
}
