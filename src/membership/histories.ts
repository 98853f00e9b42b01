import { FIRST_EPOCH } from '../../storage/config/cluster-rows.ts'
import type { Entry, Takeover } from '../../storage/config/entry.ts'
import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { entriesBehind, type EntriesBehind } from '../cluster/entries-behind.ts'
import { refused } from '../cluster/refusals.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { PartedHistories } from '../context/cluster.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { PeerClient } from '../peers/peer-client.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { Member, Members } from './members.ts'
import { clientUrl } from './node-address.ts'
import { askNode } from './questions.ts'
import { isConfiguration, setAside } from './set-aside.ts'

export const HISTORY = '/history'
const PATIENCE_MS = 3_000
/** Deadline for a node that gives way: it first writes its state to a file. */
const GIVE_WAY_MS = 30_000

export interface HistoriesParts {
  readonly own: OwnMembership
  readonly etcd: Pick<EtcdClient, 'range' | 'put' | 'delete'>
  readonly keys: ClusterKeys
  readonly store: Pick<SharedStore, 'folding' | 'edit'>
  readonly members: Members
  readonly files: Pick<ClusterFiles, 'read' | 'change' | 'halt'>
  readonly peers: Pick<PeerClient, 'forward' | 'livenessOf'>
  readonly stateFolder: string
  /** Restarts the daemon, which then rejoins the others. */
  readonly beginAnew: () => void
  readonly clock: Pick<MachineClock, 'now_ms'>
  readonly log: Log
}

/** A question between nodes of a cluster that are not in one etcd. */
export interface HistoryQuestion {
  readonly takeovers: readonly Takeover[]
  /** Whether an operator has decided that the asking node continues. */
  readonly giveWay?: boolean
}

export interface HistoryTold {
  readonly takeovers: readonly Takeover[]
  /** Entries of the configuration since the histories parted; 0 if they have not. */
  readonly edits: number
  /** Whether the node gives way. */
  readonly givesWay: boolean
}

/** The relation of this node's history to another one's. */
export type Standing = { readonly is: 'same' | 'older' } | { readonly is: 'parted'; readonly since: number }

export function standingTo(mine: readonly Takeover[], theirs: readonly Takeover[]): Standing {
  for (const [at, takeover] of mine.entries()) {
    const other = theirs[at]
    if (other === undefined || other.id === takeover.id) continue
    return { is: 'parted', since: Math.min(takeover.since, other.since) }
  }
  return { is: theirs.length > mine.length ? 'older' : 'same' }
}

/**
 * Detects reachable nodes that continue without this one, or that this one continues without. A node that has missed a
 * takeover rejoins automatically, and so does the one of two histories in which the configuration was not changed. If
 * both were changed nothing is merged: a person chooses which one stays.
 */
export class Histories {
  readonly #parts: HistoriesParts
  #parted: PartedHistories | undefined
  /** Set while this history gives way; nothing is written to it any more. */
  #givingWay: Promise<void> | undefined

  constructor(parts: HistoriesParts) {
    this.#parts = parts
  }

  get givesWay(): boolean {
    return this.#givingWay !== undefined
  }

  /** Removing the other node resolves the conflict as well. */
  get parted(): PartedHistories | undefined {
    const parted = this.#parted
    return parted !== undefined && this.#parts.members.get(parted.nodeId) !== undefined ? parted : undefined
  }

  /** Neither history grows until a person has chosen; people can log in. */
  admit(entry: Entry): void {
    if (!isConfiguration(entry)) return
    if (this.givesWay) throw refused('it is taking over the history of other nodes')
    if (this.parted !== undefined) throw refused('both nodes have taken over; choose one with PUT /cluster/resolve')
  }

  /**
   * `listed`: the members of the etcd that answers this node; undefined if none does. Returns whether every separate
   * node was asked, and has this node's history.
   */
  async look(listed: readonly EtcdMember[] | undefined): Promise<boolean> {
    const { members, own, peers } = this.#parts
    const isIn = (id: string) => listed?.some(({ name }) => name === id) === true
    let isSame = true
    for (const other of members.all()) {
      if (other.id === own.nodeId) continue
      const isApart = !isIn(own.nodeId) || !isIn(other.id)
      if (!isApart) this.#forget(other.id)
      else if (!peers.livenessOf(other.id).isReachable || !(await this.#compare(other))) isSame = false
    }
    return isSame
  }

  /** Answers another node, on which an operator may have decided that it continues. */
  async answer({ takeovers, giveWay = false }: HistoryQuestion): Promise<HistoryTold> {
    const { members, files } = this.#parts
    const standing = standingTo(members.takeovers(), takeovers)
    if (standing.is !== 'parted') return { takeovers: members.takeovers(), edits: 0, givesWay: false }
    if (giveWay) await this.#giveWay(standing.since, 'an operator has chosen the history of the other node')
    const edits = editsIn(await this.#behind(standing.since))
    // A restarted node says so until it has the other history: if both gave way, nothing would be left.
    const givesWay = this.givesWay || files.read()?.isReturning === true
    return { takeovers: members.takeovers(), edits, givesWay }
  }

  /**
   * Carries out a person's choice.
   *
   * @throws {ApiError} NOT_FOUND, INVALID_BODY, NODE_UNREACHABLE, IN_USE.
   */
  async resolve(keep: string): Promise<void> {
    const { own, members } = this.#parts
    const { parted } = this
    const other = parted && members.get(parted.nodeId)
    if (parted === undefined || other === undefined)
      throw new ApiError('NOT_FOUND', 'This cluster has one history, so there is none to choose')
    if (keep === other.id) return await this.#giveWayTo(other, parted.since)
    if (keep !== own.nodeId) {
      const message = `keep must be ${own.nodeId}, which is this node, or ${parted.nodeId}`
      throw new ApiError('INVALID_BODY', message, { errors: [{ field: 'keep', code: 'UNKNOWN_NODE', message }] })
    }
    const told = await this.#ask(other, { giveWay: true })
    if (told?.givesWay === true) this.#parted = undefined
    else throw silent(other, 'GET /cluster on that node shows whether it gives way; if it is lost, remove it')
  }

  /**
   * If both gave way, nothing would be left: so the other node is asked first; if it asks in that time, it learns that
   * this one gives way.
   */
  #giveWayTo(other: Member, since: number): Promise<void> {
    const assertStays = async () => {
      const told = await this.#ask(other)
      if (told === undefined) throw silent(other, 'it is unknown whether it continues; if it is lost, remove it')
      const isParted = standingTo(this.#parts.members.takeovers(), told.takeovers).is === 'parted'
      if (told.givesWay || !isParted)
        throw new ApiError('IN_USE', `${other.name} gives way itself; this node continues`)
    }
    this.#givingWay ??= assertStays().then(
      () => this.#giveWayOnce(since, 'an operator has chosen the other one', false),
      (error: unknown) => {
        this.#givingWay = undefined
        throw error
      },
    )
    return this.#givingWay
  }

  async #compare(other: Member): Promise<boolean> {
    const { members, files } = this.#parts
    const told = await this.#ask(other)
    if (told === undefined) return false
    const mine = members.takeovers()
    const standing = standingTo(mine, told.takeovers)
    if (standing.is === 'parted') {
      await this.#choose(other, standing.since, told)
      return false
    }
    this.#forget(other.id)
    const epoch = told.takeovers.at(-1)?.epoch ?? FIRST_EPOCH
    if (epoch <= (files.read()?.epoch ?? epoch)) return true
    // Entries of the other history that were folded here are not only here.
    const since = told.takeovers[mine.length]?.since ?? Number.POSITIVE_INFINITY
    await this.#giveWay(since, `${other.name} has continued without this node`)
    return false
  }

  async #choose(other: Member, since: number, told: HistoryTold): Promise<void> {
    const { own, members, log } = this.#parts
    if (this.givesWay || told.givesWay) return
    const here = editsIn(await this.#behind(since))
    const there = told.edits
    if (here > 0 && there > 0) {
      if (this.#parted === undefined)
        log.error('two histories: both nodes have taken over and were changed', { nodeId: other.id, since })
      this.#parted = { nodeId: other.id, since, edits: { here, there } }
      return
    }
    const keeper = here === there ? keeperOf(members, own.nodeId, other.id) : here > there ? own.nodeId : other.id
    if (keeper === own.nodeId) return
    await this.#giveWay(since, 'both nodes have taken over, and nothing was changed on this one', true)
  }

  #giveWay(since: number, why: string, onlyUnchanged = false): Promise<void> {
    this.#givingWay ??= this.#giveWayOnce(since, why, onlyUnchanged)
    return this.#givingWay
  }

  /** Saves the state that only this node has before it is replaced. */
  async #giveWayOnce(since: number, why: string, onlyUnchanged: boolean): Promise<void> {
    const { files, store, log, beginAnew } = this.#parts
    try {
      // Waits for the current write, which is stored or refused.
      await store.edit(() => ({ result: undefined }))
      const behind = await this.#behind(since)
      if (onlyUnchanged && editsIn(behind) > 0) {
        this.#givingWay = undefined
        return
      }
      const file = await this.#keep(since, behind)
      // The vote belongs to the history that is left.
      await files.change({ isReturning: true, vote: undefined })
      log.warn('this node takes over the history of other nodes', { why, ...(file === undefined ? {} : { file }) })
      beginAnew()
    } catch (error) {
      this.#givingWay = undefined
      throw error
    }
  }

  /** Returns the file with the state; undefined if this node has nothing of its own. */
  async #keep(since: number, behind: EntriesBehind): Promise<string | undefined> {
    const { own, members, files, store, stateFolder, clock } = this.#parts
    const { folding } = store
    const isMore = folding.position > since && (editsIn(behind) > 0 || !behind.isWhole)
    // A halted node differs from the others at an earlier entry.
    if (!isMore && files.halt === undefined) return undefined
    return await setAside(stateFolder, {
      clusterId: own.clusterId,
      nodeId: own.nodeId,
      at: new Date(clock.now_ms()).toISOString(),
      since,
      takeovers: members.takeovers(),
      ...behind,
      state: folding.snapshot(),
    })
  }

  /** Asks the etcd member beside this node; a stopped one returns nothing. */
  async #behind(since: number): Promise<EntriesBehind> {
    const { etcd, keys, own, store } = this.#parts
    if (store.folding.position <= since) return { entries: [], isWhole: true }
    return await entriesBehind(etcd, keys, since, { at: clientUrl(own), timeout_ms: PATIENCE_MS }).catch(() => ({
      entries: [],
      isWhole: false,
    }))
  }

  async #ask(other: Member, more: Pick<HistoryQuestion, 'giveWay'> = {}): Promise<HistoryTold | undefined> {
    const { peers, members } = this.#parts
    const body: HistoryQuestion = { takeovers: members.takeovers(), ...more }
    try {
      const timeout_ms = more.giveWay === true ? GIVE_WAY_MS : PATIENCE_MS
      const question = { nodeId: other.id, path: HISTORY, body, timeout_ms }
      // Sound: all nodes of this version answer the same.
      return (await askNode(peers, question)) as HistoryTold
    } catch {
      return undefined
    }
  }

  #forget(nodeId: string): void {
    if (this.#parted?.nodeId === nodeId) this.#parted = undefined
  }
}

const silent = ({ name }: Member, what: string) =>
  new ApiError('NODE_UNREACHABLE', `The node ${name} does not answer; ${what}`)

/** Answers history questions; nothing while this node is in no cluster. */
export const answeringHistories =
  (histories: () => Pick<Histories, 'answer'> | undefined) =>
  (question: unknown): Promise<HistoryTold> | undefined =>
    // Sound: all nodes of this version ask the same.
    histories()?.answer(question as HistoryQuestion)

/** Lost entries count as one, because their contents are unknown. */
const editsIn = ({ entries, isWhole }: EntriesBehind): number =>
  entries.filter(({ entry }) => isConfiguration(entry)).length + (isWhole ? 0 : 1)

/** Chooses deterministically, so that both sides agree. */
const keeperOf = ({ pair }: Pick<Members, 'pair'>, self: string, other: string): string => {
  const [first = self] = [self, other].sort()
  return pair?.preferredNode === self || pair?.preferredNode === other ? pair.preferredNode : first
}
