import { isResting } from '../drivers/resting.ts'
import type { L4Backend, L4Frontend } from '../model/layer4.ts'
import type { L7Backend, L7Frontend } from '../model/layer7.ts'
import { backendsOf } from '../model/l7-rules.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import { takesAll } from '../rules/l7-rules.ts'
import { nameRecord } from '../rules/names.ts'
import { about } from './about.ts'

type Layer = 'l4Backends' | 'l7Backends'
type Group = (L4Backend | L7Backend) & { readonly enabled?: boolean }

/** Returns the weight that a real server adds to its backend; 0 while it takes no new connections. */
function shareOf({ ripId, weight }: Group['reals'][number], view: ConfigView): number {
  const real = view.get('realServers', ripId)
  return real?.state === 'online' ? (weight ?? real.weight) : 0
}

/**
 * Returns why no server behind the frontend takes traffic; undefined if one does. The fallback of an enabled backend
 * counts as one, on Layer 4 only beside real servers: without any, the kernel gets no service to balance.
 */
function whyNobody(layer: Layer, backend: Group | undefined, view: ConfigView): string | undefined {
  if (backend === undefined) return 'it has no backend'
  const title = nameRecord(layer, backend)
  if (backend.enabled === false) return `its ${title} is disabled`
  const isEmpty = backend.reals.length === 0
  const hasFallback = backend.fallback !== null && !(isEmpty && layer === 'l4Backends')
  if (hasFallback || backend.reals.some((real) => shareOf(real, view) > 0)) return undefined
  if (isEmpty) return `its ${title} has no real servers`
  return `every real server of its ${title} is drained, halted or has weight 0`
}

const LEFT = 'would have no server that takes traffic'

export function layer7ServersLeft(frontend: L7Frontend, view: ConfigView): readonly Warning[] {
  const { enabled, httpRedirectToHttps = false, certificates = [], rules = [] } = frontend
  // A frontend that only redirects needs no servers.
  const onlyRedirects = httpRedirectToHttps && certificates.length === 0
  if (!enabled || onlyRedirects || isResting(frontend, view)) return []
  const ids = backendsOf(frontend)
  if (ids.length === 0 && rules.some(takesAll)) return []
  const backends = ids.length === 0 ? [undefined] : ids.map((id) => view.get('l7Backends', id))
  const why = backends.flatMap((backend) => whyNobody('l7Backends', backend, view) ?? [])
  const [first] = why
  if (first === undefined) return []
  const left = why.length < backends.length ? 'has requests that no server would accept' : LEFT
  return [about('NO_SERVER_LEFT', 'l7Frontends', frontend, `${left}: ${first}`)]
}

export function layer4ServersLeft(frontend: L4Frontend, view: ConfigView): readonly Warning[] {
  if (!frontend.enabled || isResting(frontend, view)) return []
  const backend = view.get('l4Backends', frontend.backendId)
  const why = whyNobody('l4Backends', backend, view)
  if (why !== undefined) return [about('NO_SERVER_LEFT', 'l4Frontends', frontend, `${LEFT}: ${why}`)]
  if (backend === undefined || !mayChooseDrained(backend, view)) return []
  const choice = `its ${nameRecord('l4Backends', backend)} balances by dh, which also chooses a real server that is drained`
  return [about('NO_SERVER_LEFT', 'l4Frontends', frontend, `may refuse every client: ${choice} or has weight 0`)]
}

/**
 * dh chooses by the address of the frontend, so by a single server, even one that takes no connections (seen in Linux
 * 6.1: every client is refused).
 */
const mayChooseDrained = ({ scheduler, reals }: L4Backend, view: ConfigView): boolean =>
  scheduler === 'dh' &&
  reals.some((real) => view.get('realServers', real.ripId)?.state !== 'halted' && shareOf(real, view) === 0)

/** Ways of balancing that heed weights little or not at all, with the probable intention. */
const HEEDLESS: Readonly<Record<string, string>> = {
  leastconn:
    'leastconn balances the number of connections, so weights matter only under load: use roundrobin for shares',
  first: 'first fills one real server after the other and ignores weights: use roundrobin for shares',
  rr: 'rr ignores weights: use wrr',
  lc: 'lc ignores weights: use wlc',
}

export function weights(layer: Layer, backend: Group, view: ConfigView): readonly Warning[] {
  const how = 'balance' in backend ? backend.balance : backend.scheduler
  const why = HEEDLESS[how]
  if (why === undefined || backend.enabled === false) return []
  // A backup takes traffic only when no other server does, so it shares with none.
  const sharing = backend.reals.filter((real) => !('backup' in real && real.backup === true))
  const shares = new Set(sharing.map((real) => shareOf(real, view)).filter((share) => share > 0))
  return shares.size < 2
    ? []
    : [about('WEIGHTS_MEAN_LITTLE', layer, backend, `gives its real servers weights, but ${why}`)]
}
