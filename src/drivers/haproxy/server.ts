import { changedIds } from '../../base/changed-ids.ts'
import type { HealthCheckSetting } from '../../model/health-check.ts'
import type { L7Backend, L7Real } from '../../model/layer7.ts'
import { isService, type RealServer, resolvedAt } from '../../model/real-server.ts'
import type { ConfigView } from '../../model/sections.ts'
import { serverCheck } from './checks.ts'
import { resolvingWords } from './host-names.ts'
import { commentText, endpointText, quote } from './statement.ts'

/** Whether a backend hashes over stable numbers, so that adding or removing a server moves few clients. */
export function hashes(backend: L7Backend): boolean {
  return backend.balance === 'source' || backend.balance === 'uri'
}

/** Up to this many servers of a ring have their weights unscaled. */
const RING_SERVERS_UNSCALED = 500

/**
 * A ring has 16 points per unit of weight: with 10,000 servers of weight 100, HAProxy takes half a minute to load and
 * 800 MB. So rings of very many servers have coarser weights. The divisor depends on the number of servers only, so
 * that changing one weight changes no other.
 */
function weightDivisor(backend: L7Backend): number {
  const isRing = hashes(backend) || backend.balance === 'random'
  return isRing ? Math.max(1, Math.ceil(backend.reals.length / RING_SERVERS_UNSCALED)) : 1
}

/** A server of a backend with everything that HAProxy gets. */
export interface Server {
  readonly id: string
  /** Server number within the backend in HAProxy. */
  readonly number: number
  /** Address, or host name. */
  readonly ip: string
  readonly isName: boolean
  /** Whether the name is one of SRV records, which contain the port as well. */
  readonly isService: boolean
  /** null: the port that the client used. */
  readonly port: number | null
  /** 0 while drained. */
  readonly weight: number
  readonly halted: boolean
  readonly backup: boolean
  /** All options that cannot be changed at runtime. */
  readonly options: string
  /** The two lines in haproxy.cfg. */
  readonly comment: string
  readonly line: string
}

/** Consecutive servers of a backend, with their part of haproxy.cfg. */
export interface Portion {
  readonly reals: readonly (RealServer | undefined)[]
  readonly servers: readonly Server[]
  readonly text: string
}
const PORTION = 100

/** Results derived from a backend record, cached as long as the record: most changes touch one server of thousands. */
interface Resolved {
  readonly numbers: ReadonlyMap<string, number>
  readonly optionsOf: (member: L7Real) => string
  readonly divisor: number
  portions: readonly Portion[]
  /**
   * The list of real servers that the portions were computed from: while a view has the same list, nothing needs a
   * lookup.
   */
  of: readonly RealServer[] | undefined
}
const resolvedByBackend = new WeakMap<L7Backend, Resolved>()

function resolvedOf(backend: L7Backend): Resolved {
  let resolved = resolvedByBackend.get(backend)
  if (resolved === undefined) {
    const numbers = backend.balance === 'first' ? numbersInOrder(backend) : stableNumbers(backend)
    const [optionsOf, divisor] = [serverOptions(backend), weightDivisor(backend)]
    resolved = { numbers, optionsOf, divisor, portions: [], of: undefined }
    resolvedByBackend.set(backend, resolved)
  }
  return resolved
}

/**
 * Yields the servers of a backend in the order of the record, portion by portion; a portion whose real servers are
 * unchanged is reused. A real server that does not exist is left out: `verify` reports it before anything is rendered
 * for the machine.
 */
export function* portionsOf(backend: L7Backend, view: ConfigView): Generator<Portion, undefined> {
  const resolved = resolvedOf(backend)
  // The cache is replaced only at the end: another caller may be halfway through another view.
  const { of, portions } = resolved
  const all = view.list('realServers')
  if (of === all) {
    yield* portions
    return
  }
  const isShort = backend.reals.length <= PORTION
  const mayDiffer = of === undefined || isShort ? () => true : touching(backend, changedIds(of, all))
  const found: Portion[] = []
  for (let index = 0; index * PORTION < backend.reals.length; index++) {
    const known = portions[index]
    const right = known === undefined || mayDiffer(index) ? portionAt(index, backend, view, known) : known
    found.push(right)
    yield right
  }
  resolved.portions = found
  resolved.of = all
}

function portionAt(index: number, backend: L7Backend, view: ConfigView, known: Portion | undefined): Portion {
  const members = backend.reals.slice(index * PORTION, (index + 1) * PORTION)
  const reals = members.map(({ ripId }) => view.get('realServers', ripId))
  const isKnown = known !== undefined && reals.every((real, at) => real === known.reals[at])
  return isKnown ? known : portion(members, reals, resolvedOf(backend))
}

/** Returns a test for portions that contain one of these real servers. */
function touching(backend: L7Backend, reals: readonly string[]): (index: number) => boolean {
  const members = membersOf(backend)
  // A server that is listed twice may be in two portions, and many servers are not worth individual lookups.
  if (members.size < backend.reals.length || reals.length > PORTION) return () => true
  const portions = new Set<number>()
  for (const id of reals) {
    const member = members.get(id)
    if (member !== undefined) portions.add(Math.floor(backend.reals.indexOf(member) / PORTION))
  }
  return (index) => portions.has(index)
}

function portion(members: readonly L7Real[], reals: readonly (RealServer | undefined)[], resolved: Resolved): Portion {
  const servers: Server[] = []
  for (const [at, member] of members.entries()) {
    const real = reals[at]
    if (real !== undefined) servers.push(server(member, real, resolved))
  }
  return { reals, servers, text: servers.map(({ comment, line }) => `${comment}\n${line}\n`).join('') }
}

export function serversOf(backend: L7Backend, view: ConfigView): readonly Server[] {
  const servers: Server[] = []
  for (const each of portionsOf(backend, view)) for (const entry of each.servers) servers.push(entry)
  return servers
}

/** Returns one server of a backend, or undefined when it is no member or the real server does not exist. */
export function serverOf(backend: L7Backend, ripId: string, view: ConfigView): Server | undefined {
  const member = memberOf(backend, ripId)
  const real = view.get('realServers', ripId)
  if (member === undefined || real === undefined) return undefined
  return server(member, real, resolvedOf(backend))
}

function server(member: L7Real, real: RealServer, { numbers, optionsOf, divisor }: Resolved): Server {
  const number = numbers.get(real.id) ?? 0
  const options = ` id ${number}${optionsOf(member)}${resolvingWords(real)}`
  const port = member.port ?? real.port
  const weight = real.state === 'drained' ? 0 : Math.ceil((member.weight ?? real.weight) / divisor)
  const halted = real.state === 'halted'
  const line = `    server ${real.id} ${endpointText(real.ip, port)} weight ${weight}${options}${halted ? ' disabled' : ''}`
  const comment = `    # ${commentText(real.name)}`
  const backup = member.backup === true
  return {
    id: real.id,
    number,
    ip: real.ip,
    isName: resolvedAt(real) !== undefined,
    isService: isService(real.ip),
    port,
    weight,
    halted,
    backup,
    options,
    comment,
    line,
  }
}

// Records are never changed in place, so their indexes live exactly as long as they do.
const membersByBackend = new WeakMap<L7Backend, ReadonlyMap<string, L7Real>>()

export function memberOf(backend: L7Backend, ripId: string): L7Real | undefined {
  return membersOf(backend).get(ripId)
}

/** The members by real server; fewer than listed if one is listed twice. */
export function membersOf(backend: L7Backend): ReadonlyMap<string, L7Real> {
  let members = membersByBackend.get(backend)
  if (members === undefined) {
    members = new Map(backend.reals.map((member) => [member.ripId, member]))
    membersByBackend.set(backend, members)
  }
  return members
}

/** Returns the options of a member. The common part is computed once: a backend may have 20,000 members. */
function serverOptions(backend: L7Backend): (member: L7Real) => string {
  const check = checkOptions(backend.healthCheck)
  const withCookie = backend.persistence.type === 'cookie'
  const withIp = backend.persistence.type === 'ip'
  return (member) => {
    const isBackup = member.backup === true
    let text = ''
    // A client must not stick to a server that only stands in for the others.
    if (withCookie && !isBackup) text += ` cookie ${member.ripId}`
    if (isBackup) text += ' backup'
    if (isBackup && withIp) text += ' non-stick'
    if (member.encrypted === true) text += tlsOptions(member)
    if (member.sendProxy === true) text += ' send-proxy-v2'
    if (member.maxConn !== undefined) text += ` maxconn ${member.maxConn}`
    return text + check(member)
  }
}

function tlsOptions(member: L7Real): string {
  const trust = member.verify === true ? ' ssl verify required ca-file @system-ca' : ' ssl verify none'
  if (member.sni === undefined) return trust
  const verifyHost = member.verify === true ? ` verifyhost ${member.sni}` : ''
  return `${trust} sni str(${member.sni})${verifyHost}`
}

function checkOptions(setting: HealthCheckSetting): (member: L7Real) => string {
  const check = serverCheck(setting)
  if (check === undefined) return () => ''
  const host = check.host === undefined ? undefined : hostName(check.host)
  return (member) => {
    // A check uses TLS when the traffic does; an https check of plain traffic adds its own TLS.
    const encrypted = member.encrypted === true
    if (!encrypted && !check.isTls) return check.text
    const own = encrypted ? check.text : `${check.text} check-ssl verify none`
    // With `verify`, the SNI must be the name that is compared with the certificate.
    const name = member.verify === true ? (member.sni ?? host) : (host ?? member.sni)
    return name === undefined ? own : `${own} check-sni ${quote(name)}`
  }
}

/**
 * Returns the host name in a Host header, without its port; undefined for a literal address, which SNI does not allow.
 */
function hostName(host: string): string | undefined {
  const name = host.replace(/:\d+$/, '')
  return name.includes(':') || /^[\d.]+$/.test(name) ? undefined : name
}

/** `first` fills the server with the lowest number first. */
function numbersInOrder(backend: L7Backend): ReadonlyMap<string, number> {
  return new Map(backend.reals.map(({ ripId }, index) => [ripId, FIRST_NUMBER + index]))
}

/**
 * Numbers servers by their ids alone (FNV-1a; taken numbers move up). HAProxy's consistent hash places servers by
 * number: positions as numbers would move every client when the first server is removed. And HAProxy takes six times as
 * long to load 10,000 servers when it must find free numbers itself.
 */
function stableNumbers(backend: L7Backend): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  const taken = new Set<number>()
  for (const { ripId } of backend.reals) {
    const number = numberOf(ripId)
    numbers.set(ripId, number)
    taken.add(number)
  }
  return taken.size === numbers.size ? numbers : numbersApart(numbers)
}

function numberOf(ripId: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < ripId.length; at++) hash = Math.imul(hash ^ ripId.charCodeAt(at), 0x01000193)
  return FIRST_NUMBER + ((hash >>> 0) % NUMBERS)
}

/** If ids collide in a number, the order of ids decides, so that the order of the record does not matter. */
function numbersApart(wanted: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  const taken = new Set<number>()
  for (const ripId of [...wanted.keys()].toSorted()) {
    let number = wanted.get(ripId) ?? FIRST_NUMBER
    while (taken.has(number)) number = number + 1 < FIRST_NUMBER + NUMBERS ? number + 1 : FIRST_NUMBER
    taken.add(number)
    numbers.set(ripId, number)
  }
  return numbers
}

/** Small numbers are left to the fallback, which gets its number from HAProxy. */
const FIRST_NUMBER = 100_000
const NUMBERS = 2_000_000_000
