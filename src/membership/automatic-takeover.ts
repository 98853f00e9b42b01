import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Member, Members } from './members.ts'
import { answeringPath, partnerIn, type PathsToPartner } from './partner.ts'
import type { Takeovers } from './takeovers.ts'

export interface AutomaticTakeoverParts extends PathsToPartner {
  /** Id of this node. */
  readonly self: string
  readonly members: Pick<Members, 'all' | 'mayVote' | 'pair'>
  readonly takeovers: Pick<Takeovers, 'takeOver'>
  /** Returns why this node may be the one that is cut off, as half a sentence. */
  readonly cutOff: () => Promise<string | undefined>
  readonly clock: Pick<Clock, 'monotonic_ms'>
  readonly log: Log
}

/** Lets the preferred node of a pair continue when its partner has been gone for a while. The other node never does. */
export class AutomaticTakeover {
  readonly #parts: AutomaticTakeoverParts
  #goneSince_ms: number | undefined

  constructor(parts: AutomaticTakeoverParts) {
    this.#parts = parts
  }

  async look(hasQuorum: boolean): Promise<void> {
    const { self, members, clock, cutOff, log, takeovers } = this.#parts
    const { pair } = members
    const partner = pair?.preferredNode === self ? partnerIn(members, self) : undefined
    if (hasQuorum || pair === undefined || partner === undefined || !(await this.#isGone(partner))) {
      this.#goneSince_ms = undefined
      return
    }
    this.#goneSince_ms ??= clock.monotonic_ms()
    if (clock.monotonic_ms() - this.#goneSince_ms < pair.takeoverAfter_s * 1_000) return
    const why = await cutOff()
    if (why !== undefined) {
      log.warn('this node does not take over automatically', { why })
      return
    }
    this.#goneSince_ms = undefined
    await takeovers.takeOver({
      by: 'fulcrum',
      reason: `${partner.name} was unreachable for ${pair.takeoverAfter_s} s, and this node is preferred`,
    })
  }

  async #isGone(partner: Member): Promise<boolean> {
    return (await answeringPath(this.#parts, partner)) === undefined
  }
}
