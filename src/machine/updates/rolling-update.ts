import type { Actor } from '../../context/actor.ts'
import type { RollingActor, Started } from '../../context/machine-care.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import type { JobHandle, JobKind, Jobs } from '../../jobs/jobs.ts'
import type { NodeUpdate, NodeUpdateTold } from './node-update.ts'
import { reasonOf } from '../../base/reason.ts'
import type { EventData } from '../../model/job.ts'

/** A node of the cluster, as this one sees it. */
export interface SeenNode {
  readonly id: string
  readonly name: string
  readonly isReached: boolean
  readonly isVoter: boolean
  readonly isMaintained: boolean
  /** Whether it may take floating IPs. */
  readonly isReady: boolean
  /** Number of floating IPs that it holds. */
  readonly holds: number
}

/** The cluster, as this node sees it. */
export interface SeenCluster {
  /** Number of the last log entry that this node has carried out. */
  readonly sequence: number
  readonly nodes: readonly SeenNode[]
}

export interface RollingParts {
  readonly jobs: Pick<Jobs, 'start'>
  /** Returns the package of a service; refuses unknown services, and those that are not updated from here. */
  readonly packageOf: (service: string) => string
  /** Undefined while this node is in no cluster. */
  readonly look: () => Promise<SeenCluster | undefined>
  /** Begins the update unless it has begun, and resolves with its state. Rejects if the node does not answer. */
  readonly ask: (nodeId: string, update: NodeUpdate) => Promise<NodeUpdateTold>
  /** Refuses a caller that may no longer use these endpoints. */
  readonly access: { assertStill(author: Actor, endpoints: readonly string[]): void }
  readonly isDryRun: boolean
  readonly tell: (data: EventData<'cluster'>) => void
  readonly clock: Pick<Clock, 'monotonic_ms'>
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** One node's turn. */
interface Turn {
  readonly nodeId: string
  readonly name: string
  /** Id of its own job, so that it begins only once, whichever process ends meanwhile. */
  readonly jobId: string
  /** Whether the node was ready before, which it must be again. */
  readonly wasReady: boolean
}
interface Memory {
  readonly package: string
  readonly author: Actor
  readonly turns: readonly Turn[]
}

type Found =
  | { readonly is: 'in progress' | 'ill' | 'failed'; readonly why: string }
  | { readonly is: 'well'; readonly told: NodeUpdateTold }

const LOOK_EVERY_MS = 1_000
/** How long a node may make no progress before its turn has failed. */
const PATIENCE_MS = 300_000
/** Consecutive looks in which a node must be well: a process seen once may be about to end. */
const WELL_LOOKS = 3

/**
 * Updates a package on all nodes, one after the other, those without floating IPs first. The next begins once the
 * previous one is as well as before. Each node has a job of its own, whose state can be queried: so the next start of
 * the leading daemon can continue without having stored anything.
 */
export class RollingUpdate implements RollingActor {
  readonly #parts: RollingParts

  constructor(parts: RollingParts) {
    this.#parts = parts
  }

  get kinds(): readonly JobKind<never>[] {
    return [this.#kind]
  }

  async start(service: string, author: Actor): Promise<Started> {
    const { jobs, packageOf, look, isDryRun } = this.#parts
    const name = packageOf(service)
    const { nodes } = (await look()) ?? { nodes: [] }
    for (const node of nodes) refuseNode(node)
    const ordered = nodes.toSorted((a, b) => a.holds - b.holds)
    const turns = ordered.map(({ id, name: called, isReady }) => {
      return { nodeId: id, name: called, jobId: newId(), wasReady: isReady }
    })
    const about = { title: `Update of package ${name} on all nodes` }
    const job = await jobs.start(this.#kind, { package: name, author, turns }, author.email, about)
    return { job, isDryRun }
  }

  get #kind(): JobKind<Memory> {
    const work = (job: JobHandle, memory: Memory) => this.#work(job, memory)
    return { kind: 'update.rolling', title: 'Update of all nodes', group: 'rolling update', work, resume: work }
  }

  async #work(job: JobHandle, memory: Memory): Promise<unknown> {
    const { turns, author } = memory
    const nodes = []
    for (const [at, turn] of turns.entries()) {
      // What has begun on a node continues there.
      job.report({ canCancel: true, progress: Math.floor((100 * at) / turns.length) })
      this.#parts.access.assertStill(author, ['services.update'])
      const told = await this.#update(job, memory, turn)
      if (typeof told === 'string') throw stopped(turns, at, told)
      const { from, to } = told.changed ?? {}
      const what = to === undefined ? 'has nothing newer' : `is updated from ${from} to ${to}`
      job.report({ log: [`${turn.name} ${what}, and is healthy`] })
      this.#parts.tell({ state: 'node updated', nodeId: turn.nodeId, name: turn.name, version: told.version })
      nodes.push({ nodeId: turn.nodeId, name: turn.name, from: from ?? null, to: to ?? null })
    }
    return { package: memory.package, nodes }
  }

  /** Resolves with the node's report when it is well again, or with the reason why it is not. */
  async #update(job: JobHandle, memory: Memory, turn: Turn): Promise<NodeUpdateTold | string> {
    const { clock, look, wait } = this.#parts
    const which = `${turn.name} (${memory.turns.indexOf(turn) + 1} of ${memory.turns.length})`
    const sequence = (await look())?.sequence ?? 0
    let until_ms = clock.monotonic_ms() + PATIENCE_MS
    for (let wellLooks = 0; ; await wait(LOOK_EVERY_MS, job.signal)) {
      const found = await this.#lookAt(turn, memory, sequence)
      if (found.is === 'failed') return found.why
      if (found.is === 'in progress') until_ms = clock.monotonic_ms() + PATIENCE_MS
      wellLooks = found.is === 'well' ? wellLooks + 1 : 0
      if (found.is === 'well' && wellLooks >= WELL_LOOKS) return found.told
      const why = found.is === 'well' ? 'it has been healthy for a short time only' : found.why
      job.report({ step: `${which}: ${why}` })
      if (clock.monotonic_ms() >= until_ms) return why
    }
  }

  async #lookAt(turn: Turn, { package: name, author }: Memory, sequence: number): Promise<Found> {
    const { ask, look } = this.#parts
    const told = await ask(turn.nodeId, { jobId: turn.jobId, name, by: author.email }).catch(reasonOf)
    if (typeof told === 'string') return { is: 'ill', why: `it does not answer: ${told}` }
    if (told.state === undefined) return { is: 'ill', why: told.refused ?? 'it has not started' }
    if (told.state === 'running') return { is: 'in progress', why: told.step }
    if (told.state !== 'succeeded') return { is: 'failed', why: told.problem ?? told.state }
    const why = ailment(turn, await look(), told, sequence)
    return why === undefined ? { is: 'well', told } : { is: 'ill', why }
  }
}

/** Returns what is wrong with an updated node; undefined if nothing is. */
function ailment(
  turn: Turn,
  seen: SeenCluster | undefined,
  told: NodeUpdateTold,
  sequence: number,
): string | undefined {
  const node = seen?.nodes.find(({ id }) => id === turn.nodeId)
  if (node === undefined) return 'it is no longer in the cluster'
  if (!node.isReached) return 'it cannot be reached'
  if (told.isOwn && told.changed !== undefined && told.changed.to !== told.version)
    return `it runs version ${told.version}, although ${told.changed.to} is installed`
  if (told.halted !== undefined) return `it no longer follows the cluster: ${told.halted}`
  if (told.sequence < sequence) return 'it has not caught up'
  if (node.isMaintained) return 'it is in maintenance'
  if (!node.isVoter) return 'it has no vote'
  return turn.wasReady && !node.isReady ? 'it is not ready for floating IPs' : undefined
}

const ALONE = 'PUT /{applianceId}/services/{service}/update updates one node'

/** All nodes must be well before anything begins. */
function refuseNode({ id, name, isReached, isVoter, isMaintained }: SeenNode): void {
  if (!isReached)
    throw new ApiError('NODE_UNREACHABLE', `The node ${name} cannot be reached; ${ALONE}`, { data: { nodeId: id } })
  if (isMaintained) throw new ApiError('IN_USE', `The node ${name} is in maintenance; end it first. ${ALONE}`)
  if (!isVoter) throw new ApiError('IN_USE', `The node ${name} has no vote yet; try again in a moment`)
}

function stopped(turns: readonly Turn[], at: number, why: string): ApiError {
  const names = (some: readonly Turn[]) => some.map(({ name }) => name).join(', ') || 'none'
  const others = `Updated before: ${names(turns.slice(0, at))}. Not started: ${names(turns.slice(at + 1))}`
  return new ApiError('APPLY_PARTIAL', `The update stopped at ${turns[at]?.name}: ${why}. ${others}`)
}
