import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { issuersIn, numbersOf, takenFrom } from './authorities.ts'
import type { ClusterFiles, NodeCredentials, OwnMembership, TrustHere } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import { inEtcdTurn } from './etcd-turn.ts'
import { revocationOf, revokedOf } from './foundation.ts'
import type { Members } from './members.ts'
import { clientUrl } from './node-address.ts'

export interface LockoutParts {
  readonly own: OwnMembership
  readonly etcd: EtcdClient
  readonly keys: ClusterKeys
  readonly members: Members
  readonly files: ClusterFiles
  readonly service: EtcdService
  /** Position in the log, which numbers revocation lists. */
  readonly position: () => number
  /** Presents credentials at the peer port. */
  readonly present: (credentials: NodeCredentials) => void
  readonly clock: MachineClock
  readonly log: Log
  readonly wait: (ms: number) => Promise<unknown>
}

const PATIENCE_MS = 20_000
const AGAIN_MS = 100

/**
 * Keeps removed nodes out of this node's ports: the local lists and authorities are compared with the desired ones, so
 * it does not matter when this node reads of a removal, or whether it ends meanwhile.
 */
export class Lockout {
  readonly #parts: LockoutParts

  constructor(parts: LockoutParts) {
    this.#parts = parts
  }

  /** Rejects if etcd does not answer; then it must be called again. */
  async bring(): Promise<void> {
    const { members, files } = this.#parts
    const wanted = revokedOf(members.removed()).map(({ serial }) => serial)
    let here = files.trust()
    const isKnown = isSameSet(wanted, here.serials) && isSameSet(numbersOf(members.authorities()), here.authorities)
    if (!isKnown) here = await this.#renew(here)
    if (here.isInForce || (await this.#endConnections(here))) await this.#tell(here)
  }

  async #renew(here: TrustHere): Promise<TrustHere> {
    const { own, etcd, keys, members, files, position, present } = this.#parts
    const issuers = await issuersIn(etcd, keys, members)
    const revocation = await revocationOf(issuers, members.removed(), position())
    const { serials, authorities } = revocation
    const isLess = serials.every((serial) => here.serials.includes(serial)) && isSameSet(authorities, here.authorities)
    const certifiedBy = members.get(own.nodeId)?.certifiedBy ?? issuers.issuer
    const taken = takenFrom(issuers.pairs, certifiedBy)
    const kept = await files.keepRevocation(revocation, here.isInForce && isLess, taken)
    present(files.certificates().client)
    return kept
  }

  /** Announces the authorities that this node accepts, so that others may present their certificates. */
  async #tell({ authorities }: TrustHere): Promise<void> {
    const { own, members } = this.#parts
    const trusts = Math.max(...authorities)
    if (members.get(own.nodeId)?.trusts === trusts) return
    await members.change(own.nodeId, (member) => ({ ...member, trusts }))
  }

  /** Restarts etcd, which checks the lists only for new connections. Returns whether it was this node's turn. */
  async #endConnections(here: TrustHere): Promise<boolean> {
    const { etcd, own, service, files, log } = this.#parts
    const isDone = await inEtcdTurn(etcd, own.nodeId, async () => {
      await service.restart()
      await this.#answers()
    })
    if (!isDone) return false
    await files.keepTrust({ ...here, isInForce: true })
    const { serials, authorities } = here
    log.info('etcd uses other certificates on this node', { revoked: serials.length, authorities: authorities.join() })
    return true
  }

  /** Waits for the own member, so that the next node waits until it is back. */
  async #answers(): Promise<void> {
    const { etcd, own, clock, wait } = this.#parts
    const until_ms = clock.monotonic_ms() + PATIENCE_MS
    while (clock.monotonic_ms() < until_ms) {
      const status = await etcd.maintenance.status({ at: clientUrl(own) }).catch(() => undefined)
      if (status !== undefined && status.leader !== '0') return
      await wait(AGAIN_MS)
    }
  }
}

export function isSameSet<T>(some: readonly T[], others: readonly T[]): boolean {
  const known = new Set(others)
  return some.length === others.length && some.every((one) => known.has(one))
}
