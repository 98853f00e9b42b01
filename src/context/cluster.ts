import type { Asking } from './asking.ts'

/** Somebody works on a node. */
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
  /** Begins or ends it for a node of the cluster; refuses a node that is in none, and an id of none. */
  set(nodeId: string, change: MaintenanceChange, by: string): Promise<void>
}

/** A node as the others see it. */
export interface ClusterNode {
  readonly id: string
  readonly name: string
  /** HOST:PORT where nodes ask each other. */
  readonly address: string
  readonly isSelf: boolean
  /** `unknown` shortly after a start. */
  readonly state: 'online' | 'unreachable' | 'unknown'
  /** Whether it counts for the quorum; one that has just joined does not yet. */
  readonly isVoter: boolean
  readonly isLeader: boolean
  /** Records of which it runs something else than nodes agree on, since an apply of its own. */
  readonly ahead: number
  readonly maintenance: NodeMaintenance | undefined
  /** ISO 8601: of the first of its certificates that ends; undefined where a version before this one gave them. */
  readonly certificateEnd: string | undefined
  /** Version of Fulcrum. */
  readonly version: string
  /** ISO 8601. */
  readonly since: string
}

/** A third vote that is no node. */
export type ClusterWitness = Pick<
  ClusterNode,
  'id' | 'name' | 'address' | 'state' | 'isVoter' | 'isLeader' | 'certificateEnd' | 'version' | 'since'
>

/** Two histories of one cluster, as one of the nodes sees them. */
export interface PartedHistories {
  /** Id of the other node. */
  readonly nodeId: string
  /** Number of the last entry that both have. */
  readonly since: number
  /** Changes of the configuration since then. */
  readonly edits: { readonly here: number; readonly there: number }
}

export interface ClusterState {
  readonly id: string
  readonly name: string
  readonly epoch: number
  /** Id of the one of two nodes that goes on by itself when the other one has been gone for so many seconds. */
  readonly preferredNode: string | undefined
  readonly takeoverAfter: number | undefined
  /** Both of two nodes have taken over, and a person has to say whose history stays. */
  readonly histories: PartedHistories | undefined
  /** Whether changes can be made. */
  readonly quorum: boolean
  /** Number of the last entry of the shared log that this node has carried out. */
  readonly sequence: number
  /** Why this node follows the cluster no longer; a person has to look. */
  readonly halted: string | undefined
  /** ISO 8601: since when this node has no longer been a member; undefined while it is one, or does not know. */
  readonly removedAt: string | undefined
  readonly nodes: readonly ClusterNode[]
  readonly witness: ClusterWitness | undefined
  /** How many more of those that vote may be lost before nothing can be changed. */
  readonly spareVotes: number
}

export interface Forming {
  /** Name of the cluster. */
  readonly name: string
  /** HOST or HOST:PORT where the other nodes will reach this one. */
  readonly address: string
  /** Name of this node. */
  readonly nodeName: string
}

export interface Joining {
  readonly token: string
  /** HOST or HOST:PORT where the other nodes will reach this one. */
  readonly address: string
  /** For this node; left out: its id, or the name of the node whose place it takes. */
  readonly nodeName?: string
  /** Id of a removed node: this one takes over its id, and with it the records that belong to it alone. */
  readonly as?: string
}

export interface NodeChange {
  /** For people; unique in the cluster. */
  readonly name?: string
  /** HOST or HOST:PORT where the other nodes will reach this one. */
  readonly address?: string
}

export interface IssuedToken {
  readonly id: string
  /** To hand over; shown this once. */
  readonly token: string
  /** ISO 8601. */
  readonly expiresAt: string
}

export interface NamedNode {
  readonly id: string
  readonly name: string
  readonly address: string
}

/** A record of this node's own, which comes along. */
export interface BroughtRecord {
  readonly resource: string
  readonly name: string
}

/** What a node would join. */
export interface JoinPreview {
  readonly brings: readonly BroughtRecord[]
  readonly clusterId: string
  readonly name: string
  readonly version: string
  readonly nodes: readonly NamedNode[]
  /** Nodes that were removed, in whose place this one may join. */
  readonly removed: readonly NamedNode[]
  /** Whether the cluster reaches this node at its address; `why` it does not, as half a sentence. */
  readonly reachable: boolean
  readonly why?: string
}

export interface PairChange {
  /** null: neither node goes on by itself. */
  readonly preferredNode: string | null
  /** Seconds; left out, they stay as they are; null: as if never chosen. */
  readonly takeoverAfter?: number | null
}

export interface AskedTakeover {
  /** Name of the other node. */
  readonly partnerIsOff: string
  readonly reason: string
  /** Although the other node answers. */
  readonly isForced: boolean
  readonly by: string
}

/** For clusters of two nodes, where neither can outvote the other. */
export interface PairActor {
  /** Refuses other clusters, and an id of none of the two nodes. */
  prefer(change: PairChange): Promise<void>
  /** Makes a cluster of this node alone; refuses it while the other one answers unless it is forced. */
  takeOver(asked: AskedTakeover): Promise<void>
  /** `keep`: id of the node whose history stays; refuses it where there is only one. */
  resolve(keep: string): Promise<void>
}

export interface ClusterReader {
  /** undefined: this node is in no cluster. */
  state(): Promise<ClusterState | undefined>
  /** Whether there are other nodes than this one. */
  readonly hasOthers: boolean
}

export interface ClusterActor extends ClusterReader {
  /** Refuses a node that is in a cluster, and one without etcd. */
  form(forming: Forming): Promise<void>
  /**
   * A token that lets one node or witness join within so many seconds, at most a day; refuses a node that is in no
   * cluster, and a witness where there is one, or less than two nodes.
   */
  issueToken(role: 'node' | 'witness', validFor_s: number): Promise<IssuedToken>
  /** What `join` would do. Changes nothing. */
  look(joining: Joining): Promise<JoinPreview>
  /**
   * Takes the cluster's configuration, users and sessions over in place of the own ones; refuses a node that is in a
   * cluster, a token that does not let it in, and a cluster that does not answer.
   */
  join(joining: Joining): Promise<void>
  /**
   * Removes a node or the witness: another one is locked out, and becomes a single node by itself where it is there;
   * this one becomes a single node, forced also where the others cannot be told. Refuses the last node unless it is
   * forced, and what would leave too few nodes that answer.
   */
  removeNode(id: string, isForced: boolean): Promise<void>
  /**
   * Another name or address of this node, what is left out stays; refuses what another node has, and an address at
   * which its etcd could not listen. With another address the daemon begins anew.
   */
  changeSelf(change: NodeChange): Promise<void>
  /**
   * Sends a request to the other nodes, one after the other: `pathOn` says where. Stops at the first that refuses it,
   * and says which had done it by then.
   */
  onOthers(method: string, pathOn: (nodeId: string) => string, asking: Asking): Promise<void>
}
