import { ApiError, problemIn, refuseFields } from '../base/errors.ts'
import { familyOf } from '../base/ip-network.ts'
import type { AddressesActor, NodeAddresses } from '../context/addresses.ts'
import { instancesOf, participants, syncGroupOf } from '../drivers/vrrp/instances.ts'
import type { ConfigView, SectionRecords } from '../model/sections.ts'
import { askAll, PATIENCE_MS } from './all-nodes.ts'
import type { Membership } from './membership.ts'
import { askNode } from './questions.ts'

/** Asks for a node's floating IPs. */
const ADDRESSES = '/addresses'
/** Asks a node to give away those of a sync group. */
const YIELD = '/yield'
/**
 * Asks a node to accept them again when no node has them. A node of an earlier version does not know this question, and
 * waits.
 */
const RESUME = '/resume'

export interface AddressesParts {
  readonly nodeId: string
  readonly running: ConfigView
  readonly membership: Pick<Membership, 'members' | 'forward'> & { readonly cluster: unknown }
  readonly here: {
    tells(): NodeAddresses
    yield(syncGroup: string): Promise<void>
    resume(syncGroup: string): Promise<void>
  }
  readonly wait: (ms: number) => Promise<unknown>
}

const LOOK_EVERY_MS = 50
const LOOKS_MAX = 100

/** Knows which node holds which floating IP, and moves them to other nodes. */
export class Addresses implements AddressesActor {
  readonly #parts: AddressesParts

  constructor(parts: AddressesParts) {
    this.#parts = parts
  }

  async all(): Promise<ReadonlyMap<string, NodeAddresses>> {
    const { nodeId: self, membership, here } = this.#parts
    const lost = () => undefined
    const others = await askAll({ self, membership }, { path: ADDRESSES, isAnswer: isNodeAddresses, lost })
    const told = [...others].flatMap(([id, said]) => (said === undefined ? [] : [[id, said] as const]))
    return new Map([[self, here.tells()], ...told])
  }

  /** Whether another node could take what this one gives away. */
  async hasReadyOther(): Promise<boolean> {
    const { nodeId, membership } = this.#parts
    if (membership.members.all().length < 2) return false
    return [...(await this.all())].some(
      ([id, { isReady }]) => id !== nodeId && isReady === true && !this.#isMaintained(id),
    )
  }

  async move(floatingIpId: string, nodeId: string): Promise<void> {
    const floating = this.#applied(floatingIpId)
    const able = this.#able(floating)
    this.#refuseTarget(nodeId, able, floating)
    const told = await this.all()
    const target = told.get(nodeId)
    if (target === undefined) throw unreachable(nodeId, 'does not answer')
    if (!target.isReady) refuseNode(`is not ready: ${target.why}`)
    const holds = (said: NodeAddresses | undefined) => said?.held.some(({ ip }) => ip === floating.ip) === true
    if (holds(target)) return
    const others = able.filter((id) => id !== nodeId)
    const holders = others.filter((id) => holds(told.get(id)))
    const syncGroup = syncGroupOf(floating)
    // Nodes that could intervene yield first; a node that is away takes nothing.
    const idle = others.filter((id) => !holders.includes(id))
    await Promise.allSettled(idle.map((id) => this.#yieldOn(id, syncGroup)))
    await Promise.all(holders.map((id) => this.#yieldOn(id, syncGroup)))
    const isTaken = await this.#until(async () => holds(await this.#told(nodeId)))
    // The node that takes it may fail at any moment.
    await Promise.allSettled(others.filter((id) => told.has(id)).map((id) => this.#resumeOn(id, syncGroup)))
    if (!isTaken)
      throw unreachable(nodeId, `did not take over ${floating.ip}: see journalctl -u fulcrum-vrrp on that node`)
  }

  async #until(holds: () => Promise<boolean>): Promise<boolean> {
    for (let look = 0; look < LOOKS_MAX; look++) {
      if (await holds()) return true
      await this.#parts.wait(LOOK_EVERY_MS)
    }
    return false
  }

  /** Returns why this node could not give away its floating IPs, as a sentence; undefined if it could. */
  async whyStuck(): Promise<string | undefined> {
    const held = this.#held()
    if (held.length === 0) return undefined
    const told = await this.all()
    const isReady = (id: string) => told.get(id)?.isReady === true && !this.#isMaintained(id)
    const stuck = held.filter((one) => !this.#able(one).some((id) => id !== this.#parts.nodeId && isReady(id)))
    if (stuck.length === 0) return undefined
    return `No other node is ready to take over ${stuck.map(({ ip }) => ip).join(' and ')} (isReady in GET /cluster)`
  }

  /**
   * For a node that gives its floating IPs away, see `Readiness`: resolves when other nodes have them, or some seconds
   * have passed. Returns those that no node has taken.
   */
  async leave(): Promise<readonly string[]> {
    const { nodeId: self, here, wait } = this.#parts
    const had = this.#held().map(({ ip }) => ip)
    let left: readonly string[] = had
    for (let look = 0; look < LOOKS_MAX && left.length > 0; look++) {
      if (look > 0) await wait(LOOK_EVERY_MS)
      const mine = new Set(here.tells().held.map(({ ip }) => ip))
      left = had.filter((ip) => mine.has(ip))
      // No other node is asked before this one has given all away.
      if (left.length > 0) continue
      const others = [...(await this.all())].filter(([id]) => id !== self)
      const theirs = new Set(others.flatMap(([, { held }]) => held.map(({ ip }) => ip)))
      left = had.filter((ip) => !theirs.has(ip))
    }
    return left
  }

  /** The floating IPs on this node that can move. */
  #held(): readonly SectionRecords['floatingIps'][] {
    const { nodeId, running, membership, here } = this.#parts
    const nodeIds = membership.members.all().map(({ id }) => id)
    const moving = new Set(
      instancesOf(running, { nodeId, nodeIds }).flatMap(({ addresses }) => addresses.map(({ ip }) => ip)),
    )
    const held = new Set(here.tells().held.map(({ ip }) => ip))
    return [...running.list('floatingIps')].filter(({ ip }) => moving.has(ip) && held.has(ip))
  }

  #applied(id: string): SectionRecords['floatingIps'] {
    const { running, membership } = this.#parts
    if (membership.cluster === undefined)
      throw new ApiError('NOT_FOUND', 'This node is not in a cluster: its floating IPs cannot move')
    const floating = running.get('floatingIps', id)
    if (floating === undefined) throw new ApiError('NOT_FOUND', `No floating IP with id ${id} is applied`)
    if (!floating.enabled)
      throw new ApiError('NOT_FOUND', `No node holds ${floating.ip}: enable it and apply the change first`)
    return floating
  }

  #able({ groupId, ip }: SectionRecords['floatingIps']): readonly string[] {
    const { running, membership } = this.#parts
    const group = running.get('ipGroups', groupId)
    const ids = membership.members.all().map(({ id }) => id)
    return group === undefined ? [] : participants(running, group, familyOf(ip), ids).map(({ nodeId }) => nodeId)
  }

  #refuseTarget(nodeId: string, able: readonly string[], { ip, groupId }: SectionRecords['floatingIps']): void {
    const { running, membership } = this.#parts
    if (membership.members.get(nodeId) === undefined) refuseNode(`there is no node ${nodeId}; GET /cluster lists them`)
    const group = running.get('ipGroups', groupId)?.name ?? groupId
    if (!able.includes(nodeId))
      refuseNode(`cannot hold ${ip}: it needs an interface and a static IP in the IP group ${group}`)
    if (this.#isMaintained(nodeId))
      refuseNode(`is in maintenance: end it first (PUT /cluster/nodes/${nodeId}/maintenance)`)
  }

  #isMaintained(nodeId: string): boolean {
    return this.#parts.membership.members.get(nodeId)?.maintenance !== undefined
  }

  async #yieldOn(nodeId: string, syncGroup: string): Promise<void> {
    const { nodeId: self, membership, here } = this.#parts
    if (nodeId === self) return await here.yield(syncGroup)
    try {
      await askNode(membership, { nodeId, path: YIELD, body: { syncGroup }, timeout_ms: PATIENCE_MS })
    } catch {
      throw unreachable(nodeId, 'holds the address but does not answer')
    }
  }

  async #resumeOn(nodeId: string, syncGroup: string): Promise<void> {
    const { nodeId: self, membership, here } = this.#parts
    if (nodeId === self) return await here.resume(syncGroup)
    await askNode(membership, { nodeId, path: RESUME, body: { syncGroup }, timeout_ms: PATIENCE_MS })
  }

  async #told(nodeId: string): Promise<NodeAddresses | undefined> {
    const { nodeId: self, membership, here } = this.#parts
    if (nodeId === self) return here.tells()
    const asked = { nodeId, path: ADDRESSES, body: {}, timeout_ms: PATIENCE_MS }
    const said = await askNode(membership, asked).catch(() => undefined)
    return isNodeAddresses(said) ? said : undefined
  }
}

/** Answers to other nodes, for `answering`. Undefined: this node cannot tell yet. */
export const addressAnswers = (here: () => AddressesParts['here'] | undefined) => ({
  [ADDRESSES]: async (): Promise<unknown> => here()?.tells(),
  [YIELD]: async (question: unknown): Promise<unknown> => {
    const node = here()
    await node?.yield(syncGroupIn(question))
    return node && {}
  },
  [RESUME]: async (question: unknown): Promise<unknown> => {
    const node = here()
    await node?.resume(syncGroupIn(question))
    return node && {}
  },
})

const syncGroupIn = (question: unknown): string => String(Reflect.get(Object(question), 'syncGroup'))

const refuseNode = (message: string): void => refuseFields([problemIn('nodeId', message)])

const unreachable = (nodeId: string, message: string): ApiError =>
  new ApiError('NODE_UNREACHABLE', `The node ${nodeId} ${message}`, { data: { nodeId } })

function isNodeAddresses(said: unknown): said is NodeAddresses {
  const { isReady, held }: { readonly isReady?: unknown; readonly held?: unknown } = Object(said)
  return (typeof isReady === 'boolean' || isReady === null) && Array.isArray(held)
}
