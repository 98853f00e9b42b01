import type { Asking } from './asking.ts'

/** Maintenance work on a node. */
export interface NodeMaintenance {
  /** ISO 8601. */
  readonly since: string
  readonly by: string
  readonly reason?: string
}

export interface MaintenanceChange {
  readonly enabled: boolean
  readonly reason?: string
}

export interface MaintenanceActor {
  /** Begins or ends maintenance of a node; refuses a node that is in no cluster, and an unknown id. */
  set(nodeId: string, change: MaintenanceChange, by: string): Promise<void>
}

/** A node as the others see it. */
export interface ClusterNode {
  readonly id: string
  readonly name: string
  /** HOST:PORT of its peer API. */
  readonly address: string
  readonly isSelf: boolean
  /** `unknown` shortly after a start. */
  readonly state: 'online' | 'unreachable' | 'unknown'
  /** Whether it counts for the quorum; one that has just joined does not yet. */
  readonly isVoter: boolean
  readonly isLeader: boolean
  /** Number of records that it alone runs differently from the cluster, after an apply on this node only. */
  readonly ahead: number
  readonly maintenance: NodeMaintenance | undefined
  /** ISO 8601: when the first of its certificates ends; undefined if a version before this one issued them. */
  readonly certificateEnd: string | undefined
  /** Version of Fulcrum. */
  readonly version: string
  /** ISO 8601. */
  readonly since: string
}

/** A witness: a third vote without a node. */
export type ClusterWitness = Pick<
  ClusterNode,
  'id' | 'name' | 'address' | 'state' | 'isVoter' | 'isLeader' | 'certificateEnd' | 'version' | 'since'
>

/** Two diverged histories of one cluster, as one of the nodes sees them. */
export interface PartedHistories {
  /** Id of the other node. */
  readonly nodeId: string
  /** Number of the last entry that both have in common. */
  readonly since: number
  /** Changes of the configuration since then. */
  readonly edits: { readonly here: number; readonly there: number }
}

export interface ClusterState {
  readonly id: string
  readonly name: string
  readonly epoch: number
  /** Id of the node, of two, that goes on alone after the other has been away for `takeoverAfter` seconds. */
  readonly preferredNode: string | undefined
  readonly takeoverAfter: number | undefined
  /** Set if both nodes have taken over, and a person has to decide whose history stays. */
  readonly histories: PartedHistories | undefined
  /** Whether changes can be made. */
  readonly quorum: boolean
  /** Number of the last entry of the shared log that this node has carried out. */
  readonly sequence: number
  /** Why this node no longer follows the cluster; a person has to look. */
  readonly halted: string | undefined
  /** ISO 8601: when this node was removed from the cluster; undefined while it is a member, or does not know. */
  readonly removedAt: string | undefined
  readonly nodes: readonly ClusterNode[]
  readonly witness: ClusterWitness | undefined
  /** How many more voters may be lost before changes are impossible. */
  readonly spareVotes: number
}

export interface Forming {
  /** Name of the cluster. */
  readonly name: string
  /** HOST or HOST:PORT at which the other nodes will reach this one. */
  readonly address: string
  /** Name of this node. */
  readonly nodeName: string
}

export interface Joining {
  readonly token: string
  /** HOST or HOST:PORT at which the other nodes will reach this one. */
  readonly address: string
  /** Name of this node; defaults to its id, or to the name of the node it replaces. */
  readonly nodeName?: string
  /** Id of a removed node that this one replaces: it takes over the id and the records of that node. */
  readonly as?: string
}

export interface NodeChange {
  /** For display; unique in the cluster. */
  readonly name?: string
  /** HOST or HOST:PORT at which the other nodes will reach this one. */
  readonly address?: string
}

export interface IssuedToken {
  readonly id: string
  /** To be handed over; shown only this once. */
  readonly token: string
  /** ISO 8601. */
  readonly expiresAt: string
}

export interface NamedNode {
  readonly id: string
  readonly name: string
  readonly address: string
}

/** A record of this node's own that it brings into the cluster. */
export interface BroughtRecord {
  readonly resource: string
  readonly name: string
}

/** The cluster that a node would join. */
export interface JoinPreview {
  readonly brings: readonly BroughtRecord[]
  readonly clusterId: string
  readonly name: string
  readonly version: string
  readonly nodes: readonly NamedNode[]
  /** Removed nodes that this one may replace. */
  readonly removed: readonly NamedNode[]
  /** Whether the cluster reaches this node at its address; if not, `why` says so in half a sentence. */
  readonly reachable: boolean
  readonly why?: string
}

export interface PairChange {
  /** null: neither node goes on alone. */
  readonly preferredNode: string | null
  /** In seconds; unchanged if absent, the default if null. */
  readonly takeoverAfter?: number | null
}

export interface AskedTakeover {
  /** Name of the other node. */
  readonly partnerIsOff: string
  readonly reason: string
  /** Takes over even if the other node answers. */
  readonly isForced: boolean
  readonly by: string
}

/** Operations on a cluster of two nodes, where neither can outvote the other. */
export interface PairActor {
  /** Refuses clusters of another size, and the id of neither node. */
  prefer(change: PairChange): Promise<void>
  /** Makes a cluster of this node alone; refuses while the other one answers, unless forced. */
  takeOver(asked: AskedTakeover): Promise<void>
  /** `keep` is the id of the node whose history stays; refuses if there is only one history. */
  resolve(keep: string): Promise<void>
}

export interface ClusterReader {
  /** Undefined if this node is in no cluster. */
  state(): Promise<ClusterState | undefined>
  /** Whether the cluster has other nodes. */
  readonly hasOthers: boolean
}

export interface ClusterActor extends ClusterReader {
  /** Refuses a node that is in a cluster, or has no etcd. */
  form(forming: Forming): Promise<void>
  /**
   * Issues a token with which one node or witness can join within this time, at most a day. Refuses a node that is in
   * no cluster, and a witness if there is one already or fewer than two nodes.
   */
  issueToken(role: 'node' | 'witness', validFor_s: number): Promise<IssuedToken>
  /** Returns what `join` would do. Changes nothing. */
  look(joining: Joining): Promise<JoinPreview>
  /**
   * Replaces this node's configuration, users and sessions by the cluster's; refuses a node that is in a cluster, a
   * token that is not valid, and a cluster that does not answer.
   */
  join(joining: Joining): Promise<void>
  /**
   * Removes a node or the witness. Another node is locked out, and becomes a single node if it is up; this node becomes
   * a single node, if forced even when the others cannot be notified. Refuses the last node unless forced, and a
   * removal that would leave too few nodes that answer.
   */
  removeNode(id: string, isForced: boolean): Promise<void>
  /**
   * Changes the name or address of this node; absent fields stay. Refuses values that another node has, and an address
   * at which its etcd could not listen. The daemon restarts for a new address.
   */
  changeSelf(change: NodeChange): Promise<void>
  /**
   * Sends a request to the other nodes, one after the other, at the path that `pathOn` returns. Stops at the first
   * refusal, and reports which nodes had done it by then.
   */
  onOthers(method: string, pathOn: (nodeId: string) => string, asking: Asking): Promise<void>
}
