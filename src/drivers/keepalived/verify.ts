import { checkFrom } from '../../health-checks/built-in.ts'
import { checkSettingProblems } from '../../health-checks/rules.ts'
import { canonicalIp, familyOf, parseIp } from '../../base/ip-network.ts'
import { memberNameProblems } from '../../rules/host-names.ts'
import { backendProblems, frontendProblems, maskProblem, whyNoServer } from '../../rules/layer4.ts'
import type { L4Frontend } from '../../model/layer4.ts'
import { parsePorts } from '../../model/ports.ts'
import type { ConfigView, SectionName } from '../../model/sections.ts'
import type { Problem } from '../../model/problem.ts'
import { fallbackPlace, placeText } from './fallback.ts'
import { isOnePort } from './marks.ts'
import { type Served, servedFrontends } from './services.ts'

const problem = (section: SectionName, id: string, field: string, message: string): Problem => ({
  section,
  id,
  field,
  message,
})

/**
 * Returns problems that keepalived and the kernel report badly, late or not at all. Disabled objects are verified as
 * well.
 */
export function verifyConfig(desired: ConfigView): readonly Problem[] {
  const problems: Problem[] = []
  for (const frontend of desired.list('l4Frontends')) {
    for (const { field, message } of frontendProblems(frontend)) {
      problems.push(problem('l4Frontends', frontend.id, field, `Frontend ${frontend.name}: ${field} ${message}`))
    }
  }
  const checkOf = checkFrom((id) => desired.get('healthChecks', id))
  for (const backend of desired.list('l4Backends')) {
    for (const { field, message } of [
      ...backendProblems(backend),
      ...checkSettingProblems(backend.healthCheck, 'layer-4', checkOf),
      ...memberNameProblems(backend, (id) => desired.get('realServers', id)),
    ]) {
      problems.push(problem('l4Backends', backend.id, field, `Backend ${backend.name}: ${field} ${message}`))
    }
  }
  const all = servedFrontends(desired)
  for (const served of all) problems.push(...servedProblems(served))
  return [...problems, ...clashes(desired, all)]
}

function servedProblems(served: Served): readonly Problem[] {
  const { frontend, backend, marks, destinations } = served
  const problems: Problem[] = []
  const add = (field: string, message: string): void => {
    problems.push(problem('l4Frontends', frontend.id, field, `Frontend ${frontend.name}: ${message}`))
  }
  const wrongMask = maskProblem(backend.persistMask, frontend.ip)
  if (wrongMask !== undefined) add('backendId', `backend ${backend.name} does not match: ${wrongMask}`)
  const { fallback } = backend
  if (fallback !== null) placeProblems({ ...fallback, name: 'the fallback' }, served, add)
  const seen = new Map<string, string>()
  for (const one of destinations) {
    placeProblems({ ip: one.ip, port: one.ownPort, name: `real server ${one.name}` }, served, add)
    const place = placeText(canonicalIp(one.ip), one.port)
    const other = seen.get(place)
    if (other !== undefined)
      add('backendId', `real servers ${other} and ${one.name} are both ${place} for this frontend`)
    seen.set(place, one.name)
  }
  const standIn = fallbackPlace(served)
  const twin = standIn === undefined ? undefined : seen.get(standIn)
  if (twin !== undefined) add('backendId', `the fallback and real server ${twin} are both ${standIn} for this frontend`)
  if (marks.length > 1 && frontend.forwarding === 'masq') problems.push(...samePort(served))
  return problems
}

/** Without address translation, every packet reaches the real server unchanged. */
function placeProblems(
  place: { readonly ip: string; readonly port: number | null; readonly name: string },
  { frontend, marks }: Served,
  add: (field: string, message: string) => void,
): void {
  const { ip, ports, forwarding } = frontend
  // Names are reported with their backend.
  if (parseIp(place.ip) === undefined) return
  const why = whyNoServer(place.ip)
  if (why !== undefined) add('backendId', `${place.name} cannot have the address ${place.ip}: ${why}`)
  if (familyOf(place.ip) !== familyOf(ip))
    add('ip', `${ip} and ${place.name} (${place.ip}) belong to different address families`)
  const keepsPort = marks.length > 1 && !isOnePort(frontend)
  if ((forwarding === 'masq' && !keepsPort) || place.port === null) return
  const { port } = place
  if ((parsePorts(ports) ?? []).some(({ first, last }) => first <= port && port <= last)) return
  const who = forwarding === 'masq' ? 'a persistent frontend with several ports' : forwarding
  const way = forwarding === 'masq' ? 'set no port, or no persistence' : 'set no port, or use masq'
  add('forwarding', `${who} cannot change the port, but ${place.name} has port ${port}: ${way}`)
}

/** Packets get the common port before a real server, or the fallback, is chosen. */
function samePort({ frontend, backend: { fallback }, firstPort, destinations }: Served): readonly Problem[] {
  const ports = new Set(destinations.map(({ port }) => (port === 0 ? firstPort : port)))
  if (fallback !== null) ports.add(fallback.port)
  if (!isOnePort(frontend) || ports.size < 2) return []
  const who = fallback === null ? 'all real servers' : 'all real servers and the fallback'
  const message = `Frontend ${frontend.name}: with persistence ${who} need the same port, but they have ${[...ports].join(', ')}`
  return [problem('l4Frontends', frontend.id, 'backendId', message)]
}

interface Claim {
  readonly frontend: Pick<L4Frontend, 'id' | 'name' | 'ip' | 'ports'>
  readonly layer: 4 | 7
  readonly protocol: 'tcp' | 'udp'
}

/**
 * Returns clashes of frontends with the same port and address: among those of Layer 4, and with those of Layer 7, which
 * would get no packet.
 */
function clashes(desired: ConfigView, all: readonly Served[]): readonly Problem[] {
  const claims: Claim[] = [
    ...[...desired.list('l7Frontends')]
      .filter(({ enabled }) => enabled)
      .flatMap((frontend): readonly Claim[] => {
        const claim: Claim = { frontend, layer: 7, protocol: 'tcp' }
        // HTTP/3 uses UDP.
        return frontend.http3 === true ? [claim, { ...claim, protocol: 'udp' }] : [claim]
      }),
    ...[...desired.list('l4Frontends')]
      .filter(({ enabled }) => enabled)
      .map((frontend): Claim => ({ frontend, layer: 4, protocol: frontend.protocol })),
    // Their replies would look like those of a frontend on the port of the real servers.
    ...all.flatMap(({ frontend, rewrittenPort: port }): readonly Claim[] =>
      port === undefined
        ? []
        : [{ frontend: { ...frontend, ports: String(port) }, layer: 4, protocol: frontend.protocol }],
    ),
  ]
  const byPlace = new Map<string, Claim[]>()
  const problems: Problem[] = []
  for (const claim of claims) {
    const place = `${claim.protocol} ${canonicalIp(claim.frontend.ip)}`
    const others = byPlace.get(place) ?? []
    const other = claim.layer === 7 ? undefined : others.find((one) => overlaps(one, claim))
    if (other !== undefined) {
      const message = `Frontend ${claim.frontend.name} uses a port of ${claim.frontend.ip} that the Layer ${other.layer} frontend ${other.frontend.name} also uses`
      problems.push(problem('l4Frontends', claim.frontend.id, 'ports', message))
    }
    byPlace.set(place, [...others, claim])
  }
  return problems
}

function overlaps(one: Claim, other: Claim): boolean {
  const ranges = parsePorts(other.frontend.ports) ?? []
  return (parsePorts(one.frontend.ports) ?? []).some(({ first, last }) =>
    ranges.some((range) => range.first <= last && first <= range.last),
  )
}
