import { askStanding, type Standing } from '../peers/standing.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { Members } from './members.ts'
import { standingIn } from './removals.ts'

export interface OwnStandingParts {
  readonly own: Pick<OwnMembership, 'nodeId'>
  /** Pin of the key that this node presents to its peers. */
  readonly pin: string
  readonly members: Pick<Members, 'all' | 'removalOf'>
  readonly files: Pick<ClusterFiles, 'certificates'>
}

/** Whether this node was removed: the others may be ahead of its log, or follow another one. */
export class OwnStanding {
  readonly #parts: OwnStandingParts
  /** The answer of the others. */
  #told: Standing | undefined
  #isAsking = false

  constructor(parts: OwnStandingParts) {
    this.#parts = parts
  }

  /** The removal of this node, once it knows of it from its log or from the others. */
  get removal(): Standing | undefined {
    const { members, pin } = this.#parts
    const read = standingIn(members, pin)
    return read?.isOut === true ? read : (this.#told ?? read)
  }

  /** Asks the others whether this node was removed: a removed node cannot tell this from being cut off. */
  async ask(): Promise<Standing | undefined> {
    const { own, members, files } = this.#parts
    const credentials = files.certificates().client
    for (const { id: nodeId, pin, host, port } of members.all()) {
      if (nodeId === own.nodeId || this.removal?.isOut === true) continue
      this.#told = (await askStanding({ at: { host, port }, nodeId, pin, credentials })) ?? this.#told
    }
    return this.removal
  }

  /**
   * Asks in the background, for a node that continues alone and must not wait for a machine that is off: the other node
   * may have continued as well, and may have removed this one there.
   */
  askBeside(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    void this.ask().finally(() => (this.#isAsking = false))
  }
}
