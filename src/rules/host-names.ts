import { type FieldProblem, problemIn } from '../base/errors.ts'
import type { L4Backend } from '../model/layer4.ts'
import type { L7Backend } from '../model/layer7.ts'
import { isService, type RealServer, resolvedAt, type ResolvedName } from '../model/real-server.ts'
import { nameRecord } from './names.ts'

/** The kernel balances addresses, and nothing on the node would update it when a name changes. */
const LAYER_7_ONLY = 'host names are for Layer 7 only: use an address'

/** Returns problems with `resolve`; `live` is allowed without a host name, because null means the same. */
export function resolveProblems({ ip, resolve }: ResolvedName): readonly FieldProblem[] {
  if (resolve === 'start' && isService(ip))
    return [problemIn('resolve', 'start is for host names: HAProxy resolves SRV records continuously')]
  const isIdle = resolve === 'start' && resolvedAt({ ip, resolve }) === undefined
  return isIdle ? [problemIn('resolve', `start is for host names, but ip is the address ${ip}`)] : []
}

/** Refuses a port for a real server whose SRV records contain it. */
export function servicePortProblems({ ip, port }: Pick<RealServer, 'ip' | 'port'>): readonly FieldProblem[] {
  if (port === null || !isService(ip)) return []
  return [problemIn('port', `is determined by the SRV records of ${ip}: use null`)]
}

/**
 * Refuses ports for members of a Layer 7 backend whose SRV records contain them; `from` is the index of the first
 * member.
 */
export function memberPortProblems(
  { reals }: Pick<L7Backend, 'reals'>,
  find: (ripId: string) => RealServer | undefined,
  from = 0,
): readonly FieldProblem[] {
  return reals.flatMap(({ ripId, port }, at) => {
    const real = port === undefined || port === null ? undefined : find(ripId)
    if (real === undefined || !isService(real.ip)) return []
    return [
      problemIn(
        `reals.${from + at}.port`,
        `is determined by the SRV records of the ${nameRecord('realServers', real)}`,
      ),
    ]
  })
}

/** Refuses a host name for a real server that Layer 4 backends contain. */
export function hostNameProblems(real: RealServer, backends: Iterable<L4Backend>): readonly FieldProblem[] {
  if (resolvedAt(real) === undefined) return []
  return [...backends]
    .filter(({ reals }) => reals.some(({ ripId }) => ripId === real.id))
    .map((backend) =>
      problemIn(
        'ip',
        `is the host name ${real.ip}, but the ${nameRecord('l4Backends', backend)} contains this real server; ${LAYER_7_ONLY}`,
      ),
    )
}

/** Refuses members of a Layer 4 backend that have a host name. */
export function memberNameProblems(
  { reals }: Pick<L4Backend, 'reals'>,
  find: (ripId: string) => RealServer | undefined,
): readonly FieldProblem[] {
  return reals.flatMap(({ ripId }, at) => {
    const real = find(ripId)
    if (real === undefined || resolvedAt(real) === undefined) return []
    const message = `is the ${nameRecord('realServers', real)}, whose ip is the host name ${real.ip}; ${LAYER_7_ONLY}`
    return [problemIn(`reals.${at}.ripId`, message)]
  })
}
