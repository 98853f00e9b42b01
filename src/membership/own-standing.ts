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

/** What became of this node: the others may be further than its log, or go on with another one. */
export class OwnStanding {
  readonly #parts: OwnStandingParts
  /** What the others say of it. */
  #told: Standing | undefined
  #isAsking = false

  constructor(parts: OwnStandingParts) {
    this.#parts = parts
  }

  /** Once it knows that it was removed: by its log, or from the others. */
  get removal(): Standing | undefined {
    const { members, pin } = this.#parts
    const read = standingIn(members, pin)
    return read?.isOut === true ? read : (this.#told ?? read)
  }

  /** A node that is cut off asks whether it was removed meanwhile, because both look the same to it. */
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
   * The same for a node that goes on alone and needs nobody, without waiting for a machine that is off: the other one
   * may go on as well, and may have removed it there.
   */
  askBeside(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    void this.ask().finally(() => (this.#isAsking = false))
  }
}
