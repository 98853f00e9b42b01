import { keepalivedRuns } from '../ipvs/director.ts'
import type { AddressesParts } from '../membership/addresses.ts'
import { HeldAddresses } from '../watches/held-addresses.ts'
import { MasterSession } from '../watches/master-session.ts'
import { Readiness, type ReadinessParts } from '../watches/readiness.ts'
import type { Node, Part } from './node.ts'

/** Creates the parts for this node's floating IPs: which ones it holds, and whether it may hold those that move. */
export function createFloating(
  node: Node,
  others: Pick<ReadinessParts, 'isLeaving' | 'isRemoved' | 'hasReadyOther'>,
): { readonly here: AddressesParts['here']; readonly parts: readonly Part[] } {
  const { machine, events, settings, store, log } = node
  const addresses = new HeldAddresses({ ...node, tell: (data) => events.publish('address', data) })
  const haproxy = new MasterSession(machine.masterSocket ?? '', () => void look())
  const { executor } = machine
  const revision = () => store.runningVersion
  const readiness = new Readiness({ ...node, ...others, revision, executor, haproxy, keepalivedRuns })
  const look = () =>
    readiness.look().catch((error: unknown) => log.warn('keepalived could not be informed', { reason: String(error) }))
  // In trial the network is only recorded, and an observing daemon does not manage it.
  const isMoved = settings.profile !== 'trial' && settings.observe === undefined
  const here = {
    tells: () => ({ isReady: isMoved ? readiness.why === undefined : null, why: readiness.why, held: addresses.held }),
    yield: (syncGroup: string) => readiness.yield(syncGroup),
    resume: (syncGroup: string) => readiness.resume(syncGroup),
  }
  return { here, parts: isMoved ? [addresses, haproxy, readiness] : [] }
}
