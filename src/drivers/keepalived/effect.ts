import { canonicalIp } from '../../base/ip-network.ts'
import type { L4Backend, L4Frontend } from '../../model/layer4.ts'
import type { ConfigView, RecordChange } from '../../model/sections.ts'
import type { ChangeEffect } from '../driver.ts'
import { marksOf } from './marks.ts'
import { serviceText } from './render.ts'
import { type Served, servedFrontend } from './services.ts'

/**
 * Whether both give the same block of keepalived.conf, except for weights and names, and match the same packets in
 * nftables.
 */
export const isSameStructure = (before: Served | undefined, after: Served | undefined): boolean =>
  before === after ||
  (before !== undefined &&
    after !== undefined &&
    serviceText(before, 'structure') === serviceText(after, 'structure') &&
    before.rewrittenPort === after.rewrittenPort &&
    before.frontend.ip === after.frontend.ip &&
    before.frontend.protocol === after.frontend.protocol &&
    before.frontend.ports === after.frontend.ports)

/** Returns the most expensive effect of a change among the frontends it concerns; undefined when there are none. */
export function effectOf(change: RecordChange, running: ConfigView, desired: ConfigView): ChangeEffect | undefined {
  const concerned = new Set([running, desired].flatMap((view) => concernedIn(view, change)))
  if (concerned.size === 0) return undefined
  const [before, after] = [running, desired].map((view) => ({ view, marks: marksOf(view) }))
  const served = (id: string, side: typeof before): Served | undefined => {
    const frontend = side?.view.get('l4Frontends', id)
    return frontend === undefined || side === undefined
      ? undefined
      : servedFrontend(frontend, side.marks.get(id) ?? [], side.view)
  }
  const isSame = [...concerned].every((id) => isSameStructure(served(id, before), served(id, after)))
  return isSame ? 'runtime' : 'reload'
}

/** Returns the ids of the frontends that a change concerns. */
function concernedIn(view: ConfigView, change: RecordChange): readonly string[] {
  const isConcerned = concernOf(change)
  if (isConcerned === undefined) return []
  const ids: string[] = []
  for (const frontend of view.list('l4Frontends')) {
    const backend = view.get('l4Backends', frontend.backendId)
    if (backend !== undefined && isConcerned(frontend, backend)) ids.push(frontend.id)
  }
  return ids
}

function concernOf(change: RecordChange): ((frontend: L4Frontend, backend: L4Backend) => boolean) | undefined {
  const { section, id } = change
  if (section === 'l4Frontends') return (frontend) => frontend.id === id
  if (section === 'l4Backends') return (_, backend) => backend.id === id
  if (section === 'realServers') return (_, backend) => membersOf(backend).has(id)
  if (section === 'healthChecks') return (_, { healthCheck }) => healthCheck.type === 'script' && healthCheck.id === id
  if (section !== 'floatingIps') return undefined
  const ips = new Set([change.before?.ip, change.after?.ip])
  return ({ ip }) => ips.has(canonicalIp(ip))
}

// Records are never changed in place, so their indexes live as long as they do.
const membersByBackend = new WeakMap<L4Backend, ReadonlySet<string>>()

function membersOf(backend: L4Backend): ReadonlySet<string> {
  let members = membersByBackend.get(backend)
  if (members === undefined) {
    members = new Set(backend.reals.map(({ ripId }) => ripId))
    membersByBackend.set(backend, members)
  }
  return members
}
