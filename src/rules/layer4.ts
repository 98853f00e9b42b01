import { type FieldProblem, problemIn } from '../base/errors.ts'
import { familyOf, fullPrefix, parseIp } from '../base/ip-network.ts'
import type { L4Backend, L4Frontend } from '../model/layer4.ts'
import { parsePorts } from '../model/ports.ts'

/** Returns the problems of a Layer 4 frontend, without looking at other records. */
export function frontendProblems({ ip, ports }: Pick<L4Frontend, 'ip' | 'ports'>): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  const why = whyNoService(ip)
  if (why !== undefined) problems.push(problemIn('ip', `cannot be the address of a service: ${why}`))
  const ranges = [...(parsePorts(ports) ?? [])].sort((a, b) => a.first - b.first)
  const twice = ranges.find(({ first }, at) => first <= (ranges[at - 1]?.last ?? 0))
  if (twice !== undefined) problems.push(problemIn('ports', `lists port ${twice.first} twice`))
  return problems
}

function whyNoService(ip: string): string | undefined {
  const parsed = parseIp(ip)
  if (parsed === undefined) return 'it is not an address'
  if (parsed.value === 0n) return 'the kernel balances a single address, not all addresses'
  if (parsed.family === 6 ? parsed.value >> 120n === 0xffn : parsed.value >> 28n >= 0xen)
    return 'it is not the address of a host'
  return whyNoServer(ip)
}

/** Returns why no real server could have this address; undefined if one could. */
export function whyNoServer(ip: string): string | undefined {
  const parsed = parseIp(ip)
  if (parsed?.family !== 6) return undefined
  if (parsed.value >> 118n === 0x3fan) return 'it is valid on one interface only (link-local)'
  const above = parsed.value >> 32n
  // Programs write these addresses in another form than they read.
  return above === 0xffffn || (above === 0n && parsed.value > 0xffffn) ? 'write it as IPv4' : undefined
}

/** Returns the problems of a Layer 4 backend, without looking at other records. */
export function backendProblems({
  reals,
  persistTimeout,
  persistMask,
}: Pick<L4Backend, 'reals' | 'persistTimeout' | 'persistMask'>): readonly FieldProblem[] {
  const seen = new Set<string>()
  const problems: FieldProblem[] = []
  for (const [at, { ripId }] of reals.entries()) {
    if (seen.has(ripId)) problems.push(problemIn(`reals.${at}.ripId`, 'is already in this backend'))
    seen.add(ripId)
  }
  if (persistMask !== null && persistTimeout === 0) {
    problems.push(problemIn('persistMask', 'needs persistTimeout: without it there is no persistence'))
  }
  return problems
}

/** Returns why a mask does not fit the family of an address; undefined if it does. */
export function maskProblem(mask: string | null, ip: string): string | undefined {
  if (mask === null) return undefined
  const family = familyOf(ip) === 6 ? 6 : 4
  if (mask.includes('.')) return family === 4 ? undefined : `the mask ${mask} is for IPv4`
  return Number(mask) <= fullPrefix(family) ? undefined : `the prefix length ${mask} is for IPv6`
}
