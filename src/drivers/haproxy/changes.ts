import { changedIds } from '../../base/changed-ids.ts'
import type { L7Backend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { backendSkeleton } from './backend.ts'
import { isProgram } from './checks.ts'
import { frontendSyntax } from './frontend.ts'
import { hasServerDefaults } from './raw.ts'
import { byId } from './render.ts'
import { memberOf, type Server, serverOf, serversOf } from './server.ts'

/** The change of one server of a running backend; `before` is undefined for a new one, `after` for a removed one. */
export interface ServerChange {
  readonly backendId: string
  readonly before: Server | undefined
  readonly after: Server | undefined
}

/** The difference between two configurations for a running HAProxy. */
export type Difference = 'reload' | readonly ServerChange[]

export function differenceOf(running: ConfigView, desired: ConfigView): Difference {
  if (frontendsText(running) !== frontendsText(desired) || rawText(running) !== rawText(desired)) return 'reload'
  const before = byId(running.list('l7Backends')).filter(({ enabled }) => enabled)
  const after = byId(desired.list('l7Backends')).filter(({ enabled }) => enabled)
  if (before.length !== after.length) return 'reload'
  const changes: ServerChange[] = []
  const reals = changedIds(running.list('realServers'), desired.list('realServers'))
  for (const [index, backend] of after.entries()) {
    const old = before[index]
    if (old === undefined || old.id !== backend.id) return 'reload'
    const difference =
      old === backend
        ? membersDifference(backend, reals, running, desired)
        : backendDifference(old, running, backend, desired)
    if (difference === 'reload') return 'reload'
    changes.push(...difference)
  }
  return changes
}

/** Returns the difference of a backend whose record is the same on both sides, when only these real servers changed. */
function membersDifference(
  backend: L7Backend,
  reals: readonly string[],
  running: ConfigView,
  desired: ConfigView,
): Difference {
  const changes: ServerChange[] = []
  for (const id of reals) {
    if (memberOf(backend, id) === undefined) continue
    const [before, after] = [serverOf(backend, id, running), serverOf(backend, id, desired)]
    // If a server is added or removed, the order matters as well.
    if (before === undefined || after === undefined) return backendDifference(backend, running, backend, desired)
    if (!same(before, after)) changes.push({ backendId: backend.id, before, after })
  }
  return unlessReload(backend, changes, desired)
}

/** The frontends as HAProxy reads them, without comments. */
function frontendsText(view: ConfigView): string {
  return byId(view.list('l7Frontends'))
    .map((frontend) => frontendSyntax(frontend, view))
    .join('')
}

/** Raw lines: their meaning is unknown. */
const rawText = (view: ConfigView) => JSON.stringify([...view.list('l7Raw')])

export function backendDifference(
  before: L7Backend,
  running: ConfigView,
  after: L7Backend,
  desired: ConfigView,
): Difference {
  if (backendSkeleton(before) !== backendSkeleton(after)) return 'reload'
  if (!after.enabled) return []
  return serversDifference(after, serversOf(before, running), desired)
}

function serversDifference(backend: L7Backend, before: readonly Server[], desired: ConfigView): Difference {
  const after = serversOf(backend, desired)
  // `first` fills servers in file order.
  if (backend.balance === 'first' && !sameOrder(before, after)) return 'reload'
  const standIns = (servers: readonly Server[]) => servers.filter(({ backup }) => backup)
  if (!sameOrder(standIns(before), standIns(after))) return 'reload'
  return unlessReload(backend, changedServers(backend.id, before, after), desired)
}

function unlessReload(backend: L7Backend, changes: readonly ServerChange[], desired: ConfigView): Difference {
  const isReload = changes.some(({ before, after }) => serverEffect(backend, before, after, desired) === 'reload')
  return isReload ? 'reload' : changes
}

function changedServers(backendId: string, before: readonly Server[], after: readonly Server[]): ServerChange[] {
  const changes: ServerChange[] = []
  const old = new Map<string, Server>()
  // Most servers are the same object at the same index; only the others need a lookup.
  for (const [index, entry] of before.entries()) if (after[index]?.id !== entry.id) old.set(entry.id, entry)
  for (const [index, entry] of after.entries()) {
    const at = before[index]
    if (at === entry) continue
    const was = at?.id === entry.id ? at : old.get(entry.id)
    old.delete(entry.id)
    if (was === undefined || !same(was, entry)) changes.push({ backendId, before: was, after: entry })
  }
  // Removals come last, so that a backend is never without servers in between.
  for (const gone of old.values()) changes.push({ backendId, before: gone, after: undefined })
  return changes
}

export function same(a: Server, b: Server): boolean {
  return a.ip === b.ip && a.port === b.port && a.weight === b.weight && a.halted === b.halted && a.options === b.options
}

/** Whether the change is possible at runtime, or needs a reload. */
export function serverEffect(
  backend: L7Backend,
  before: Server | undefined,
  after: Server | undefined,
  desired: ConfigView,
): 'runtime' | 'reload' {
  // A server added at runtime inherits nothing from default-server.
  if (before === undefined && hasServerDefaults(desired, backend.id)) return 'reload'
  if (before === undefined || after === undefined) return comesAndGoes(backend, before ?? after) ? 'runtime' : 'reload'
  // A server without a port of its own is of another kind inside HAProxy.
  const sameKind = (before.port === null) === (after.port === null)
  // HAProxy changes a name or port only together with an address, which a server with a name does not have.
  const moved = before.ip !== after.ip || before.port !== after.port
  const isRenamed = (before.isName || after.isName) && moved
  return sameKind && !isRenamed && before.options === after.options ? 'runtime' : 'reload'
}

/** Whether HAProxy 2.6 and later can add and delete this server at runtime. */
function comesAndGoes(backend: L7Backend, entry: Server | undefined): boolean {
  if (backend.balance === 'first' || entry?.isName === true) return false
  // A server added at runtime has no arguments for its check program, and the check fails.
  if (isProgram(backend.healthCheck)) return false
  // Cookies are refused for servers added at runtime.
  if (backend.persistence.type === 'cookie') return false
  // Backup servers serve in order, with the fallback last; a running HAProxy would append a new one after all others.
  return entry?.backup !== true
}

function sameOrder(before: readonly Server[], after: readonly Server[]): boolean {
  return before.length === after.length && before.every((entry, index) => entry.id === after[index]?.id)
}
