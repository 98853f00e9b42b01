import type { ConfigStore, RevisionHeader } from '../../../storage/config/config-store.ts'
import { ApiError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { NodeOutcome } from '../../context/applying.ts'
import type { Enacted } from '../enactor.ts'
import { decisionOn, thaw } from './decision.ts'
import type { NodeName, OtherNodes, RolloutAnswer, RolloutQuestion } from './other-nodes.ts'
import { failedOn, type NodeRefusal, notEverywhere, refusalOf, undecided, unprepared } from './refusals.ts'

/** Where an apply takes effect. */
export interface Reach {
  /**
   * Throws if one of the nodes could not apply. `verify` runs here; `check` asks this node's programs while the other
   * nodes answer.
   */
  prepare(verify: () => Promise<void>, check: () => Promise<void>): Promise<void>
  /** `here` enacts on this node. Throws if one of the nodes did not, and then all are as before. */
  enact(here: () => Promise<Enacted>): Promise<Enacted>
}

/** An apply on the only node. */
export const HERE_ALONE: Reach = { prepare: (verify) => verify(), enact: (here) => here() }

/** Used for an apply on this node alone. */
export const NO_OTHERS: OtherNodes = {
  members: () => [],
  isLive: () => false,
  ask: (nodeId) => Promise.reject(new Error(`${nodeId} is not asked`)),
}

const PREPARE_MS_MAX = 30_000
const ENACT_MS_MAX = 120_000

export interface RolloutParts {
  readonly others: OtherNodes
  readonly store: ConfigStore
  readonly nodeId: string
  readonly log: Log
  /** Keeps what was enacted here while the apply is undecided. */
  readonly hold: (header: RevisionHeader, enacted: Enacted) => void
}

type Said = RolloutAnswer | 'lost'

/**
 * One apply over all nodes that are up, led by this one: it is frozen already, so every node has the same changes.
 * Until the log has its promotion, any node may record that it comes to nothing.
 */
export class Rollout implements Reach {
  readonly #parts: RolloutParts
  readonly #header: RevisionHeader
  readonly #here: NodeName
  readonly #targets: readonly NodeName[]
  readonly #missed: readonly NodeName[]
  #enactedHere: Enacted | undefined

  constructor(parts: RolloutParts, header: RevisionHeader) {
    this.#parts = parts
    this.#header = header
    this.#here = { id: parts.nodeId, name: 'this node' }
    const members = parts.others.members()
    this.#targets = members.filter(({ id }) => parts.others.isLive(id))
    this.#missed = members.filter(({ id }) => !parts.others.isLive(id))
  }

  async prepare(verify: () => Promise<void>, check: () => Promise<void>): Promise<void> {
    const answered = Promise.all(
      this.#targets.map(async (node) => [node, await this.#ask(node.id, 'prepare')] as const),
    )
    const own = await said(async () => {
      await verify()
      await check()
      return NOTHING_TO_SAY
    }, this.#parts.log)
    const all = [[this.#here, own] as const, ...(await answered)]
    const lost = all.find(([, answer]) => answer === 'lost')
    const [first, ...more] = all.flatMap(refusedBy)
    if (first !== undefined) throw unprepared([first, ...more])
    if (lost === undefined) return
    const message = `Nothing was changed: ${lost[0].name} is up, but did not answer; try again`
    throw new ApiError('NODE_UNREACHABLE', message, { data: { nodeId: lost[0].id } })
  }

  async enact(here: () => Promise<Enacted>): Promise<Enacted> {
    const done: Exclude<RolloutAnswer, { ok: false }>[] = []
    // The leader enacts last: if the change cuts it off from the others, they have answered by then, or the change is
    // not kept.
    for (const wave of [this.#targets, [this.#here]]) {
      const all = await Promise.all(wave.map(async (node) => [node, await this.#enactOn(node.id, here)] as const))
      const lost = all.find(([, answer]) => answer === 'lost')
      const refused = all.flatMap(refusedBy)
      const [first] = refused
      if (first !== undefined) throw await this.#takenBack(first.node.name, failedOn(first), refused)
      if (lost !== undefined) throw await this.#takenBack(lost[0].name, LOST, [])
      for (const [, answer] of all) if (answer !== 'lost' && answer.ok) done.push(answer)
    }
    const enacted = this.#enactedHere
    if (enacted === undefined) throw new Error('this node has applied nothing')
    return {
      isDryRun: done.some(({ isDryRun }) => isDryRun),
      warnings: [...done.flatMap(({ warnings }) => warnings), ...this.#missed.map(missedWarning)],
      nodes: [this.#here, ...this.#targets].map(applied).concat(this.#missedOutcomes()),
      keep: () => enacted.keep(),
      takeBack: (why, output) => this.#takenBack(this.#here.name, { why, output }, []),
    }
  }

  #enactOn(nodeId: string, here: () => Promise<Enacted>): Promise<Said> {
    if (nodeId !== this.#here.id) return this.#ask(nodeId, 'enact')
    return said(async () => {
      const enacted = await here()
      this.#enactedHere = enacted
      const { isDryRun, warnings } = enacted
      return { ok: true, isDryRun, warnings }
    }, this.#parts.log)
  }

  async #ask(nodeId: string, ask: RolloutQuestion['ask']): Promise<Said> {
    const { others, log } = this.#parts
    const timeout_ms = ask === 'enact' ? ENACT_MS_MAX : PREPARE_MS_MAX
    try {
      return await others.ask(nodeId, { ask, applyId: this.#header.applyId }, timeout_ms)
    } catch (error) {
      log.warn('a node has not answered', { node: nodeId, ask, why: String(error) })
      return 'lost'
    }
  }

  /**
   * Records that the apply comes to nothing, unless it is already decided otherwise, and returns the refusal. Nodes go
   * back when they read this in the log, whether they answer here or not.
   */
  async #takenBack(
    where: string,
    { why, output }: Pick<NodeOutcome, 'why' | 'output'>,
    refused: readonly NodeRefusal[],
  ): Promise<ApiError> {
    const { store, log, hold } = this.#parts
    const enacted = this.#enactedHere
    try {
      await thaw(store, this.#header.applyId)
    } catch (error) {
      log.warn('the failure of an apply could not be recorded yet', { why: String(error) })
    }
    if (decisionOn(store, this.#header) !== 'thawed') {
      if (enacted !== undefined) hold(this.#header, enacted)
      const nodes = [this.#here, ...this.#targets].map(({ id }) => outcome(id, 'unknown'))
      return undecided(`${where}: ${why}`, [...nodes, ...this.#missedOutcomes()])
    }
    await enacted?.takeBack(why, output)
    const others = this.#targets.map((node) => this.#becameOf(node, refused))
    const nodes = [this.#ownOutcome(refused), ...(await Promise.all(others)), ...this.#missedOutcomes()]
    return notEverywhere(where, why, nodes)
  }

  #ownOutcome(refused: readonly NodeRefusal[]): NodeOutcome {
    const own = refused.find(({ node }) => node.id === this.#here.id)
    if (own !== undefined) return failedOn(own)
    // The journal is closed once the machine is as before.
    return outcome(this.#here.id, this.#parts.store.journal() === undefined ? 'takenBack' : 'failed')
  }

  async #becameOf(node: NodeName, refused: readonly NodeRefusal[]): Promise<NodeOutcome> {
    const own = refused.find((one) => one.node.id === node.id)
    if (own !== undefined) return failedOn(own)
    const answer = await this.#ask(node.id, 'goBack')
    if (answer === 'lost') return { ...outcome(node.id, 'unknown'), ...LOST }
    return answer.ok ? outcome(node.id, 'takenBack') : failedOn({ node, refusal: answer.refusal })
  }

  #missedOutcomes(): readonly NodeOutcome[] {
    return this.#missed.map(({ id }) => outcome(id, 'missed'))
  }
}

const LOST = { why: 'it did not answer', output: '' } as const
const NOTHING_TO_SAY: RolloutAnswer = { ok: true, isDryRun: false, warnings: [] }

const outcome = (nodeId: string, state: NodeOutcome['state']): NodeOutcome => ({
  nodeId,
  ok: state === 'applied',
  state,
  why: '',
  output: '',
})

const applied = ({ id }: NodeName): NodeOutcome => outcome(id, 'applied')

const missedWarning = ({ name }: NodeName): string => `${name} is unreachable; it catches up when it is back`

function refusedBy([node, answer]: readonly [NodeName, Said]): readonly NodeRefusal[] {
  return answer === 'lost' || answer.ok ? [] : [{ node, refusal: answer.refusal }]
}

/** Runs `work` on this node and answers as another node would. */
export async function said(work: () => Promise<RolloutAnswer>, log: Pick<Log, 'error'>): Promise<RolloutAnswer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) log.error('this node failed in an apply', { reason: String(error) })
    return { ok: false, refusal: refusalOf(error) }
  }
}
