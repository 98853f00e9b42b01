import type { Log } from '../base/log.ts'
import { isDue, readNodeCertificate } from '../cluster/node-certificate.ts'
import type { NodeCredentials } from './cluster-files.ts'
import { issuingPair } from './authorities.ts'
import { Issued } from './issued.ts'
import { certifyAnew, type MovingParts, putInPlace, type Renewed } from './moving.ts'

export interface RenewalParts extends MovingParts {
  /** Presents this certificate from the next connection on; etcd reads its files itself. */
  readonly present: (credentials: NodeCredentials) => void
  readonly log: Log
}

const EVERY_MS = 3_600_000

/**
 * Renews the certificates of this node before they end, and when the issuing authorities change. Its keys stay, and
 * identify it: no node must be told, and connections continue.
 */
export class Renewal {
  readonly #parts: RenewalParts
  readonly #issued = new Issued<Renewed>()
  #last_ms = -EVERY_MS

  constructor(parts: RenewalParts) {
    this.#parts = parts
  }

  /** Rejects if etcd does not answer; then the next look retries. */
  async look(): Promise<void> {
    const { cluster, members, files, clock, log } = this.#parts
    const self = members.get(cluster.own.nodeId)
    // The node has just joined, and is still reading the log.
    if (self === undefined) return
    const now_ms = clock.monotonic_ms()
    const isOfOthers = issuingPair(members).number !== self.certifiedBy
    if (!isOfOthers && now_ms - this.#last_ms < EVERY_MS) return
    const { client, peer } = files.certificates()
    const isOld = [client, peer].some(({ certificate }) => isDue(readNodeCertificate(certificate), clock.now_ms()))
    if (isOld || isOfOthers) {
      const renewed = await this.#issued.again(members, self.id, () => certifyAnew(this.#parts, cluster.own))
      await putInPlace(this.#parts, renewed, this.#parts.present)
      this.#issued.done()
      log.info('the certificates of this node in the cluster were renewed')
    }
    this.#last_ms = now_ms
  }
}
