import type { MachineClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { ClusterFiles, NodeCredentials, OwnMembership, RevokedHere } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import { inEtcdTurn } from './etcd-turn.ts'
import { authoritiesIn, revocationOf, revokedOf } from './foundation.ts'
import type { Members } from './members.ts'
import { clientUrl } from './node-address.ts'

export interface LockoutParts {
  readonly own: OwnMembership
  readonly etcd: EtcdClient
  readonly keys: ClusterKeys
  readonly members: Members
  readonly files: ClusterFiles
  readonly service: EtcdService
  /** Of the log, as the number of a list. */
  readonly position: () => number
  /** For the peer port. */
  readonly present: (credentials: NodeCredentials) => void
  readonly clock: MachineClock
  readonly log: Log
  readonly wait: (ms: number) => Promise<unknown>
}

const PATIENCE_MS = 20_000
const AGAIN_MS = 100

/**
 * Keeps out of this node's ports who was removed: what stands in the lists here is compared with what has to, so it
 * does not matter when this node reads of a removal, or ends meanwhile.
 */
export class Lockout {
  readonly #parts: LockoutParts

  constructor(parts: LockoutParts) {
    this.#parts = parts
  }

  /** Rejects where etcd does not answer; then it has to be asked again. */
  async bring(): Promise<void> {
    const { members, files } = this.#parts
    const wanted = revokedOf(members.removed()).map(({ serial }) => serial)
    const here = files.revoked()
    if (!isSame(wanted, here.serials)) await this.#renew(here)
    if (!files.revoked().isInForce) await this.#endConnections()
  }

  async #renew({ serials: before, isInForce }: RevokedHere): Promise<void> {
    const { etcd, keys, members, files, position, present, clock } = this.#parts
    const authorities = await authoritiesIn(etcd, keys)
    const revocation = await revocationOf(authorities, members.removed(), position(), clock.now_ms())
    const { serials } = revocation
    await files.keepRevocation(revocation)
    await files.keepRevoked({ serials, isInForce: isInForce && serials.every((serial) => before.includes(serial)) })
    present(files.certificates().client)
  }

  /** etcd looks at a list when somebody connects. Who is connected goes on, until it is started again. */
  async #endConnections(): Promise<void> {
    const { etcd, own, service, files, log } = this.#parts
    const isDone = await inEtcdTurn(etcd, own.nodeId, async () => {
      await service.restart()
      await this.#answers()
    })
    if (!isDone) return
    await files.keepRevoked({ ...files.revoked(), isInForce: true })
    log.info('nodes that were removed are locked out of etcd here', { certificates: files.revoked().serials.length })
  }

  /** Of its own member: the next node waits until this one has it back. */
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

function isSame(some: readonly string[], others: readonly string[]): boolean {
  const known = new Set(others)
  return some.length === others.length && some.every((one) => known.has(one))
}
