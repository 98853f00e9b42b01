import type { FieldError, FieldProblem } from '../../base/errors.ts'
import { checkProblems } from '../../health-checks/rules.ts'
import type { L7Backend, L7Frontend, L7Real } from '../../model/layer7.ts'
import { isService, type RealServer } from '../../model/real-server.ts'
import type { ConfigView, SectionName } from '../../model/sections.ts'
import type { Problem } from '../../model/problem.ts'
import { backendProblems as ownProblems, frontendProblems as ownFrontendProblems } from '../../rules/layer7.ts'
import { memberPortProblems } from '../../rules/host-names.ts'
import { rawProblems } from '../../rules/l7-raw.ts'
import { isWildcard, whyUnusable } from './address.ts'
import { FALLBACK } from './backend.ts'
import { type HaproxyPaths, SOCKET_PATH_MAX } from './paths.ts'
import { portClashes } from './port-clashes.ts'
import { servedFrontends } from './resting.ts'
import { type Portion, portionsOf } from './server.ts'
import { certificateProblems, cipherListProblems } from './verify-certificates.ts'
import { tlsProblems } from './verify-tls.ts'

/**
 * Returns problems that HAProxy's own checker reports badly, late or not at all. Disabled objects are verified as well.
 */
export function verifyConfig(desired: ConfigView, paths: HaproxyPaths): readonly Problem[] {
  const frontends = servedFrontends(desired)
  const problems = [...pathProblems(paths), ...portClashes(frontends)]
  for (const certificate of desired.list('certificates')) problems.push(...certificateProblems(certificate))
  for (const list of desired.list('cipherLists')) problems.push(...cipherListProblems(list))
  for (const frontend of frontends) problems.push(...frontendProblems(frontend, desired))
  for (const backend of desired.list('l7Backends')) problems.push(...backendProblems(backend, desired))
  for (const raw of desired.list('l7Raw'))
    for (const { field, message } of rawProblems(raw))
      problems.push(problem('l7Raw', raw.id, field, `Raw lines: ${field} ${message}`))
  return problems
}

function problem(section: SectionName, id: string, field: string, message: string): Problem {
  return { section, id, field, message }
}

function pathProblems(paths: HaproxyPaths): readonly Problem[] {
  return [paths.masterSocket, paths.statsSocket, paths.peersSocket]
    .filter((path) => Buffer.byteLength(path) > SOCKET_PATH_MAX)
    .map((path) => ({
      section: undefined,
      id: undefined,
      field: undefined,
      message: `The path ${path} is too long for a socket (at most ${SOCKET_PATH_MAX} bytes): choose a shorter state folder`,
    }))
}

function frontendProblems(frontend: L7Frontend, view: ConfigView): readonly Problem[] {
  const { id, ip, defaultBackendId, rules = [] } = frontend
  const problems: Problem[] = [...tlsProblems(frontend, view)]
  for (const { field, message } of ownFrontendProblems(frontend))
    problems.push(problem('l7Frontends', id, field, `Frontend ${frontend.name}: ${field} ${message}`))
  const unusable = whyUnusable(ip)
  if (unusable !== undefined) {
    problems.push(problem('l7Frontends', id, 'ip', `Frontend ${frontend.name} cannot listen on ${ip}: ${unusable}`))
  }
  const named: readonly (readonly [field: string, id: string | null | undefined])[] = [
    ['defaultBackendId', defaultBackendId],
    ...rules.map(({ do: { backendId } }, at) => [`rules.${at}.do.backendId`, backendId] as const),
  ]
  for (const [field, backendId] of named) {
    if (backendId === null || backendId === undefined) continue
    const backend = view.get('l7Backends', backendId)
    const message = backend === undefined ? `There is no backend ${backendId}` : whyNotBehind(frontend, backend)
    if (message !== undefined) problems.push(problem('l7Frontends', id, field, message))
  }
  return problems
}

function whyNotBehind({ name, mode }: L7Frontend, backend: L7Backend): string | undefined {
  if (backend.mode === mode) return undefined
  return `Frontend ${name} has mode ${mode}, but its backend ${backend.name} has mode ${backend.mode}: both must be the same`
}

function backendProblems(backend: L7Backend, view: ConfigView): readonly Problem[] {
  const problems: Problem[] = []
  const add = (field: string, message: string): void => {
    problems.push(problem('l7Backends', backend.id, field, message))
  }
  for (const { field, message } of knownOwnProblems(backend)) {
    const member = backend.reals[Number(/^reals\.(\d+)\./.exec(field)?.[1])]
    const name = member === undefined ? undefined : (view.get('realServers', member.ripId)?.name ?? '')
    const whose = name === undefined ? '' : `, real server ${name} (${member?.ripId})`
    add(field, `Backend ${backend.name}${whose}: ${field} ${message}`)
  }
  for (const { field, message } of checkProblems(backend.healthCheck, 'layer-7', view)) {
    add(field, `Backend ${backend.name}: ${field} ${message}`)
  }
  if (backend.fallback !== null && isWildcard(backend.fallback.ip))
    add('fallback.ip', `Backend ${backend.name}: the fallback server ${noServer(backend.fallback.ip)}`)
  let from = 0
  for (const portion of portionsOf(backend, view)) {
    for (const { field, message } of problemsIn(portion, from, backend)) add(field, message)
    from += portion.reals.length
  }
  return problems
}

/** HAProxy takes it for the address that the client connected to, so a request would come back until none can. */
const noServer = (ip: string): string => `has the address ${ip}, at which there is no server`

const ownByBackend = new WeakMap<L7Backend, readonly FieldProblem[]>()

/** Computed once per record: it may have 20,000 members, and most applies change others. */
function knownOwnProblems(backend: L7Backend): readonly FieldProblem[] {
  let problems = ownByBackend.get(backend)
  if (problems === undefined) ownByBackend.set(backend, (problems = ownProblems(backend)))
  return problems
}

type Found = Pick<FieldError, 'field' | 'message'>
const foundInPortion = new WeakMap<Portion, readonly Found[]>()

/** Problems of members, cached per portion, which is replaced when its backend or any of its real servers changes. */
function problemsIn(portion: Portion, from: number, backend: L7Backend): readonly Found[] {
  const known = foundInPortion.get(portion)
  if (known !== undefined) return known
  const members = backend.reals.slice(from, from + portion.reals.length)
  const reals = new Map(members.map(({ ripId }, at) => [ripId, portion.reals[at]]))
  const ofPorts = memberPortProblems({ reals: members }, (id) => reals.get(id), from)
  const problems = [
    ...ofPorts.map(({ field, message }) => ({ field, message: `Backend ${backend.name}: ${field} ${message}` })),
    ...members.flatMap((member, at) => memberProblems(member, `reals.${from + at}`, backend, portion.reals[at])),
  ]
  foundInPortion.set(portion, problems)
  return problems
}

function memberProblems(
  member: L7Real,
  place: string,
  { name, healthCheck }: L7Backend,
  real: RealServer | undefined,
): readonly Found[] {
  if (real === undefined)
    return [{ field: `${place}.ripId`, message: `Backend ${name}: there is no real server ${member.ripId}` }]
  const problems: Found[] = []
  if (member.ripId === FALLBACK)
    problems.push({ field: `${place}.ripId`, message: `The id ${FALLBACK} is reserved for the fallback server` })
  if (isWildcard(real.ip))
    problems.push({
      field: `${place}.ripId`,
      message: `Backend ${name}: real server ${real.name} ${noServer(real.ip)}`,
    })
  if (healthCheck.type !== 'none' && (member.port ?? real.port) === null && !isService(real.ip)) {
    const message = `Real server ${real.name} has no port of its own, so its health cannot be checked`
    problems.push({ field: `${place}.port`, message })
  }
  return problems
}
