import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { closed, Moment, MomentOrNull, Name } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })
const yes = (description: string) => Type.Boolean({ description })

const Node = Type.Object({
  id: text('The applianceId of the node.'),
  name: text('Display name.'),
  address: text('HOST:PORT of the peer API; etcd and HAProxy use the next three ports.'),
  isSelf: yes('Whether this is the answering node.'),
  state: Type.Enum(['online', 'unreachable', 'unknown'], {
    description: 'Whether the answering node can reach this node; unknown shortly after a start.',
  }),
  isVoter: yes('Whether the node counts for the quorum; one that has just joined does not yet.'),
  isLeader: yes('Whether the node is the current leader, which has no other privilege.'),
  ahead: Type.Integer({
    description:
      'Number of records that differ from the agreed ones since PUT /{applianceId}/services/apply, until the next apply on all nodes.',
  }),
  maintenance: Type.Union(
    [
      Type.Object({
        since: Moment('ISO 8601.'),
        by: text('E-mail of the user who started the maintenance; fulcrum if the daemon did on its own machine.'),
        reason: Type.Optional(text('Reason.')),
      }),
      Type.Null(),
    ],
    {
      description:
        'Maintenance of the node, during which its etcd member is not the leader; null if it is not in maintenance.',
    },
  ),
  certificateEnd: MomentOrNull(
    'ISO 8601: when the certificates of the node expire; it renews them 30 days before. null: unknown.',
  ),
  isReady: Type.Union([Type.Boolean(), Type.Null()], {
    description:
      'Whether the node may take floating IPs from other nodes; null if it does not report this, or if floating IPs do not move, as in trial.',
  }),
  floatingIps: Type.Array(Type.String(), {
    description: 'Floating IPs that the node holds now; empty if it does not report them.',
  }),
  version: text('Version of Fulcrum that the node reported last.'),
  since: Moment('When the node joined, ISO 8601.'),
})

const Witness = Type.Object({
  id: text('Id of the witness, for DELETE /cluster/nodes/{applianceId}.'),
  name: text('Host name of the witness.'),
  address: text('HOST:PORT of the witness for nodes; etcd uses the second port after it.'),
  state: Node.properties.state,
  isVoter: yes('Whether the witness counts for the quorum; one that has just joined does not yet.'),
  isLeader: yes('Whether the witness is the current leader; nodes take over leadership within seconds.'),
  certificateEnd: Node.properties.certificateEnd,
  version: text('Version of Fulcrum of the witness.'),
  since: Node.properties.since,
})

const State = Type.Object({
  id: text('Id of the cluster.'),
  name: text('Display name.'),
  epoch: Type.Integer({ description: 'Rises by one with each takeover by the remaining node, starting at 1.' }),
  preferredNode: Type.Union([Type.String(), Type.Null()], {
    description:
      'applianceId of the node that takes over automatically in a cluster of two nodes, see PUT /cluster; null: neither does.',
  }),
  takeoverAfter: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Seconds that the other node must be unreachable first; null if no node is preferred.',
  }),
  histories: Type.Union(
    [
      Type.Object({
        nodeId: text('The other node.'),
        since: Type.Integer({ description: 'Number of the last entry of the shared log that both nodes have.' }),
        edits: Type.Object(
          {
            here: Type.Integer({ description: 'Changes on the answering node.' }),
            there: Type.Integer({ description: 'Changes on the other node.' }),
          },
          { description: 'Number of configuration changes since then.' },
        ),
      }),
      Type.Null(),
    ],
    {
      description:
        'Set if both of two nodes have taken over and were changed: no further changes are possible until PUT /cluster/resolve chooses the one to keep; null otherwise.',
    },
  ),
  quorum: yes('Whether enough nodes answer, so that changes can be made.'),
  sequence: Type.Integer({
    description: 'Number of the last entry of the shared log that the answering node has applied.',
  }),
  halted: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the answering node no longer follows the cluster; null while it does.',
  }),
  removedAt: MomentOrNull('ISO 8601: since when the answering node is no longer a member; null while it is one.'),
  nodes: Type.Array(Node, { description: 'Nodes, in the order in which they joined.' }),
  witness: Type.Union([Witness, Type.Null()], {
    description: 'Witness: a vote without a node, see POST /cluster/tokens; null: the cluster has none.',
  }),
  spareVotes: Type.Integer({
    description: 'Number of voters that may be lost before changes become impossible; 0: no spare vote.',
  }),
})

const Address = Type.String({
  minLength: 1,
  maxLength: 260,
  description: 'HOST or HOST:PORT at which the other nodes reach this one; default port: that of --peer.',
})

const NamedNode = Type.Object({
  id: text('applianceId of the node.'),
  name: text('Name of the node.'),
  address: text('HOST:PORT.'),
})

const Preview = Type.Object({
  clusterId: text('Id of the cluster.'),
  name: text('Display name.'),
  version: text('Version of Fulcrum on the answering member.'),
  nodes: Type.Array(NamedNode, { description: 'Nodes of the cluster.' }),
  removed: Type.Array(NamedNode, { description: 'Removed nodes that this one can replace, see as.' }),
  brings: Type.Array(
    Type.Object({ resource: text('Section of the configuration.'), name: text('Name of the record.') }),
    {
      description:
        'Records of this node alone, which it keeps; everything else is replaced by the records of the cluster.',
    },
  ),
  reachable: yes('Whether the cluster can reach this node at its address.'),
  why: Type.Optional(text('Why the cluster cannot reach this node.')),
})

const Join = closed({
  token: Type.String({
    minLength: 1,
    maxLength: 2048,
    description: 'Token from POST /cluster/tokens on a member; secret.',
  }),
  address: Address,
  nodeName: Type.Optional(Name),
  as: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9-]{1,64}$',
      description: 'Id of a removed node: this node takes over its id, its name and the records of that node alone.',
    }),
  ),
  dryRun: Type.Optional(yes('Only reports what joining would do, without using up the token.')),
})

const DAY_S = 86_400
const HOUR_S = 3_600

const Issue = closed({
  role: Type.Optional(
    Type.Enum(['node', 'witness'], {
      description:
        'What may join with the token; default node. A witness is a third vote without a configuration: see docs/cluster.md.',
    }),
  ),
  validFor: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: DAY_S,
      description: `Seconds for which the token is valid, 60 to ${DAY_S}; default ${HOUR_S}.`,
    }),
  ),
})

const Issued = Type.Object({
  id: text('Id of the token.'),
  token: text('Token for the joining node; shown only once, and valid for one node.'),
  expiresAt: Moment('ISO 8601.'),
})

const Change = closed({
  name: Type.Optional(Name),
  address: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 260,
      description: 'HOST or HOST:PORT at which the other nodes reach it; the address it listens on is set with --peer.',
    }),
  ),
})

const Maintenance = closed({
  enabled: yes('Whether maintenance starts or ends.'),
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Reason; shown in GET /cluster.' })),
})

const Form = closed({
  name: Name,
  address: Address,
  nodeName: Type.Optional(Name),
})

const FORCE = Type.Enum(['true', 'false'], {
  description:
    'Only for the answering node itself: it becomes a single node even if the others cannot be informed, or if it is the last one.',
})

export const cluster = [
  endpoint({
    name: 'cluster.show',
    method: 'GET',
    path: '/cluster',
    effect: 'read',
    extension: true,
    summary: 'Read the cluster of this node; null if it is not in a cluster',
    message: 'Cluster',
    data: Type.Union([State, Type.Null()]),
    handle: async (ctx) => {
      const state = await ctx.cluster.state()
      if (state === undefined) return null
      const told = await ctx.addresses.all()
      const { halted = null, removedAt = null, nodes } = state
      const { preferredNode = null, takeoverAfter = null, histories = null } = state
      const witness = state.witness && { ...state.witness, certificateEnd: state.witness.certificateEnd ?? null }
      const shown = nodes.map(({ maintenance = null, certificateEnd = null, ...node }) => ({
        ...node,
        maintenance,
        certificateEnd,
        isReady: told.get(node.id)?.isReady ?? null,
        floatingIps: (told.get(node.id)?.held ?? []).map(({ ip }) => ip),
      }))
      return {
        ...state,
        halted,
        removedAt,
        preferredNode,
        takeoverAfter,
        histories,
        nodes: shown,
        witness: witness ?? null,
      }
    },
  }),
  endpoint({
    name: 'cluster.form',
    method: 'POST',
    path: '/cluster',
    effect: 'act',
    extension: true,
    managedOnly: true,
    refuses: ['IN_USE', 'JOB_IN_PROGRESS'],
    summary: 'Create a cluster with this node as its first member; traffic is not affected',
    message: 'The cluster is formed',
    body: Form,
    data: NoData,
    handle: async (ctx, { body }) => {
      await ctx.cluster.form({ ...body, nodeName: body.nodeName ?? ctx.nodeId })
      return []
    },
  }),
  endpoint({
    name: 'cluster.issueToken',
    method: 'POST',
    path: '/cluster/tokens',
    effect: 'act',
    extension: true,
    refuses: ['LIMIT_REACHED'],
    summary: 'Create a token with which one node or a witness can join',
    message: 'Token created',
    body: Issue,
    data: Issued,
    handle: (ctx, { body }) => ctx.cluster.issueToken(body.role ?? 'node', body.validFor ?? HOUR_S),
  }),
  endpoint({
    name: 'cluster.join',
    method: 'POST',
    path: '/cluster/join',
    effect: 'act',
    extension: true,
    managedOnly: true,
    refuses: ['IN_USE', 'JOB_IN_PROGRESS', 'NODE_UNREACHABLE'],
    summary: 'Join a cluster: its configuration and users replace those of this node',
    message: 'Joined the cluster',
    body: Join,
    data: Type.Union([Preview, NoData]),
    handle: async (ctx, { body: { dryRun = false, ...joining } }) => {
      if (dryRun) {
        const { nodes, removed, brings, ...preview } = await ctx.cluster.look(joining)
        const seen = { ...preview, nodes: [...nodes], removed: [...removed], brings: [...brings] }
        return Reply.with(seen, { message: 'Preview of joining; nothing was changed' })
      }
      await ctx.cluster.join(joining)
      return []
    },
  }),
  endpoint({
    name: 'cluster.removeNode',
    method: 'DELETE',
    path: '/cluster/nodes/{applianceId}',
    answeredByAny: 'for any id',
    effect: 'act',
    extension: true,
    managedOnly: true,
    refuses: ['IN_USE', 'JOB_IN_PROGRESS', 'APPLY_IN_PROGRESS', 'NO_QUORUM'],
    summary: 'Remove a node or the witness: a node that is up becomes a single node, an unreachable one is locked out',
    message: 'The node is removed',
    query: closed({ force: Type.Optional(FORCE) }),
    data: NoData,
    handle: async (ctx, { params, query }) => {
      await ctx.cluster.removeNode(params.applianceId, query.force === 'true')
      return []
    },
  }),
  endpoint({
    name: 'cluster.changeNode',
    method: 'PUT',
    path: '/cluster/nodes/{applianceId}',
    effect: 'act',
    extension: true,
    managedOnly: true,
    refuses: ['IN_USE', 'JOB_IN_PROGRESS', 'NAME_NOT_UNIQUE'],
    summary: 'Change the name of a node or its address in the cluster',
    message: 'The node is changed',
    body: Change,
    data: NoData,
    handle: async (ctx, { body }) => {
      await ctx.cluster.changeSelf(body)
      return []
    },
  }),
  endpoint({
    name: 'cluster.maintainNode',
    method: 'PUT',
    path: '/cluster/nodes/{applianceId}/maintenance',
    answeredByAny: 'for members',
    effect: 'act',
    extension: true,
    managedOnly: true,
    summary: 'Start or end maintenance of a node; during maintenance its etcd member is not the leader',
    message: 'Maintenance of the node is changed',
    body: Maintenance,
    data: NoData,
    handle: async (ctx, { params, body }) => {
      await ctx.maintenance.set(params.applianceId, body, ctx.actor.email)
      return []
    },
  }),
]
