import type { StickEntry, StickTables } from '../context/stick-tables.ts'
import type { RunStep, Step } from '../drivers/driver.ts'
import { MOVED, TABLE } from '../drivers/keepalived/nftables.ts'
import { type Served, servedFrontends } from '../drivers/keepalived/services.ts'
import { ApiError } from '../base/errors.ts'
import { canonicalIp, canonicalNetwork, familyOf, fullPrefix } from '../base/ip-network.ts'
import type { MovedClient, Persistence, PersistenceTemplate } from '../model/persistence.ts'
import type { ConfigView } from '../model/sections.ts'

/** Elements per call of nft: its argument stays far below Linux's limit. */
const ELEMENTS_MAX = 500
const TIMEOUT_MS = 30_000

export interface StickTableParts {
  readonly running: ConfigView
  readonly facts: { persistence(marks: readonly number[]): Promise<Persistence | undefined> }
  readonly engine: { run(steps: readonly Step[]): Promise<{ readonly isDryRun: boolean }> }
}

/** The present state of a table. */
interface Table {
  readonly served: Served
  readonly templates: readonly PersistenceTemplate[]
  readonly moved: ReadonlyMap<string, MovedClient>
}

/**
 * The clients of persistent Layer 4 frontends. The kernel cannot delete a single entry, so a client is moved to another
 * mark.
 */
export function createStickTables({ running, facts: machine, engine }: StickTableParts): StickTables {
  const read = async (id: string): Promise<Table | undefined> => {
    const frontend = running.get('l4Frontends', id)
    if (frontend === undefined) {
      throw new ApiError('NOT_FOUND', `No running Layer 4 frontend has the id ${id}; staged ones appear after apply`)
    }
    const served = servedFrontends(running).find((one) => one.frontend.id === id)
    if (served === undefined || served.marks.length < 2) return undefined
    const facts = await machine.persistence(served.marks)
    if (facts === undefined) {
      throw new ApiError('NOT_SUPPORTED', 'This machine has no IPVS: the kernel module ip_vs is not loaded')
    }
    const base = served.marks[0]
    const moved = facts.moved.filter(({ from }) => from === base).map((one) => [one.client, one] as const)
    return { served, templates: facts.templates, moved: new Map(moved) }
  }
  return {
    async list(id) {
      const table = await read(id)
      return table === undefined ? [] : current(table).map((template) => entryOf(template, table.served))
    },
    async clear(id, key) {
      const table = await read(id)
      const entries = table === undefined ? [] : current(table)
      const wanted = key === undefined ? entries : entries.filter(({ clientIp }) => clientIp === canonicalIp(key))
      if (key !== undefined && wanted.length === 0) {
        throw new ApiError('NOT_FOUND', `The stick table of ${id} has no entry ${key}`)
      }
      if (table === undefined || wanted.length === 0) return { isDryRun: false, left: 0 }
      const moves = movesOf(table, wanted)
      const done = await engine.run(moveSteps(table, moves))
      return { ...done, left: wanted.length - moves.length }
    },
  }
}

/** Returns the valid entries: a moved client has left one behind, which expires. */
function current({ served, templates, moved }: Table): readonly PersistenceTemplate[] {
  return templates.filter(({ mark, clientIp }) => {
    const client = networkOf(clientIp, served)
    // Entries from before a change of the mask have other networks.
    return canonicalNetwork(client) === client && mark === (moved.get(client)?.to ?? served.marks[0])
  })
}

/** Returns the client as in the maps: with the prefix length under which clients count as one. */
function networkOf(clientIp: string, { frontend, backend }: Served): string {
  const full = fullPrefix(familyOf(frontend.ip))
  const { persistMask } = backend
  if (persistMask === null) return `${clientIp}/${full}`
  const bits = persistMask
    .split('.')
    .reduce((sum, part) => sum + Number(part).toString(2).replaceAll('0', '').length, 0)
  return `${clientIp}/${persistMask.includes('.') ? bits : persistMask}`
}

function entryOf({ clientIp, mark, expires_s }: PersistenceTemplate, { frontend, firstPort }: Served): StickEntry {
  return {
    key: clientIp,
    mark,
    expires: durationText(expires_s),
    clientIp,
    serviceIp: frontend.ip,
    servicePort: firstPort,
  }
}

/** Formats 3723 as 1h 2m 3s. */
export function durationText(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const
  const shown = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`)
  return shown.join(' ') || '0s'
}

interface Move {
  readonly client: string
  readonly to: number
}

/** Returns the new marks of clients; those without a free mark stay. Refuses if that are all of them. */
function movesOf(table: Table, wanted: readonly PersistenceTemplate[]): readonly Move[] {
  const { served, templates } = table
  const used = new Map<string, PersistenceTemplate[]>()
  for (const one of templates) used.set(one.clientIp, [...(used.get(one.clientIp) ?? []), one])
  const moves = wanted.flatMap(({ clientIp, mark }): readonly Move[] => {
    const known = new Set((used.get(clientIp) ?? []).map((one) => one.mark))
    // A mark under which the kernel has no entry of this client.
    const to = served.marks.find((candidate) => candidate !== mark && !known.has(candidate))
    return to === undefined ? [] : [{ client: networkOf(clientIp, served), to }]
  })
  if (moves.length > 0) return moves
  const waits_s = wanted.flatMap(({ clientIp, mark }) =>
    (used.get(clientIp) ?? []).filter((one) => one.mark !== mark).map((one) => one.expires_s),
  )
  const who = wanted.length === 1 ? (wanted[0]?.clientIp ?? '') : `Each of ${wanted.length} clients`
  throw new ApiError(
    'IN_USE',
    `${who} was cleared ${served.marks.length - 1} times, and earlier entries in the kernel have not expired yet: try again in ${durationText(Math.min(...waits_s))}`,
  )
}

function moveSteps(table: Table, moves: readonly Move[]): readonly RunStep[] {
  const { served, moved } = table
  const map = MOVED[familyOf(served.frontend.ip)]
  const base = served.marks[0] ?? 0
  const element = (verb: 'add' | 'delete', client: string, to: number) =>
    `${verb} element inet ${TABLE} ${map} { ${client} . ${base} : ${to} }`
  const commands = moves.map(({ client, to }) => {
    const before = moved.get(client)
    return [
      ...(before === undefined ? [] : [element('delete', client, before.to)]),
      ...(to === base ? [] : [element('add', client, to)]),
    ].join('; ')
  })
  const steps: RunStep[] = []
  const all = [...commands, ...forgotten(table, element)]
  for (let at = 0; at < all.length; at += ELEMENTS_MAX) {
    const part = all.slice(at, at + ELEMENTS_MAX)
    steps.push({
      kind: 'run',
      why: 'balance clients anew',
      timeout_ms: TIMEOUT_MS,
      argv: ['nft', part.join('; ')],
      undo: 'irreversible',
    })
  }
  return steps
}

/** Removes moves of clients that have no entry in the kernel any more. */
function forgotten(
  { served, templates, moved }: Table,
  element: (verb: 'delete', client: string, to: number) => string,
) {
  const known = new Set(templates.map(({ clientIp }) => networkOf(clientIp, served)))
  return [...moved.values()]
    .filter(({ client }) => !known.has(client))
    .map(({ client, to }) => element('delete', client, to))
}
