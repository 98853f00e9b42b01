import { type FieldProblem, problemIn } from '../base/errors.ts'
import type { L4Backend } from '../model/layer4.ts'
import type { L7Backend } from '../model/layer7.ts'
import { isService, type RealServer, resolvedAt, type ResolvedName } from '../model/real-server.ts'
import { nameRecord } from './names.ts'

/** The kernel balances addresses, and nothing on the node would follow a name for it. */
const LAYER_7_ONLY = 'host names are for Layer 7 only: give it an address'

/** What is wrong with what was sent of a real server; live is what null stands for as well. */
export function resolveProblems({ ip, resolve }: ResolvedName): readonly FieldProblem[] {
  if (resolve === 'start' && isService(ip))
    return [problemIn('resolve', 'start is for host names: HAProxy asks for SRV records again and again')]
  const isIdle = resolve === 'start' && resolvedAt({ ip, resolve }) === undefined
  return isIdle ? [problemIn('resolve', `start is for host names, and ip is the address ${ip}`)] : []
}

/** Why a real server cannot have that port: SRV records say it. */
export function servicePortProblems({ ip, port }: Pick<RealServer, 'ip' | 'port'>): readonly FieldProblem[] {
  if (port === null || !isService(ip)) return []
  return [problemIn('port', `is said by the SRV records of ${ip}: give null`)]
}

/** Why a Layer 7 backend cannot have these ports of some of its members, the first of which is its member `from`. */
export function memberPortProblems(
  { reals }: Pick<L7Backend, 'reals'>,
  find: (ripId: string) => RealServer | undefined,
  from = 0,
): readonly FieldProblem[] {
  return reals.flatMap(({ ripId, port }, at) => {
    const real = port === undefined || port === null ? undefined : find(ripId)
    if (real === undefined || !isService(real.ip)) return []
    return [
      problemIn(`reals.${from + at}.port`, `is said by the SRV records of the ${nameRecord('realServers', real)}`),
    ]
  })
}

/** Why this real server cannot be what it is for the Layer 4 backends that have it. */
export function hostNameProblems(real: RealServer, backends: Iterable<L4Backend>): readonly FieldProblem[] {
  if (resolvedAt(real) === undefined) return []
  return [...backends]
    .filter(({ reals }) => reals.some(({ ripId }) => ripId === real.id))
    .map((backend) =>
      problemIn(
        'ip',
        `is the host name ${real.ip}, and the ${nameRecord('l4Backends', backend)} has this real server; ${LAYER_7_ONLY}`,
      ),
    )
}

/** Why a Layer 4 backend cannot have some of its members. */
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
