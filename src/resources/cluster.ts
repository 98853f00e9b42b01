import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { closed, Moment, MomentOrNull, Name } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })
const yes = (description: string) => Type.Boolean({ description })

const Node = Type.Object({
  id: text('The applianceId of the node.'),
  name: text('Name for people.'),
  address: text('HOST:PORT where nodes ask each other; etcd and HAProxy have the three ports above it.'),
  isSelf: yes('The node that answers.'),
  state: Type.Enum(['online', 'unreachable', 'unknown'], {
    description: 'Whether the node that answers reaches it; unknown shortly after a start.',
  }),
  isVoter: yes('Counts for the quorum; a node that has just joined does not yet.'),
  isLeader: yes('Leads the votes at the moment; it has no other privilege.'),
  ahead: Type.Integer({
    description:
      'Records of which it runs something else than nodes agree on, since PUT /{applianceId}/services/apply; an apply on all ends this.',
  }),
  maintenance: Type.Union(
    [
      Type.Object({
        since: Moment('ISO 8601.'),
        by: text('E-mail of the user who began it; fulcrum if the daemon did on its own machine.'),
        reason: Type.Optional(text('What for.')),
      }),
      Type.Null(),
    ],
    {
      description:
        'Somebody works on the node, and its member of etcd does not lead meanwhile; null while nobody does.',
    },
  ),
  certificateEnd: MomentOrNull(
    'ISO 8601: when its certificates end; it renews them by itself 30 days before. null: not known.',
  ),
  isReady: Type.Union([Type.Boolean(), Type.Null()], {
    description:
      'Whether it may take floating IPs from other nodes; null where it does not tell, and where none move, as in trial.',
  }),
  floatingIps: Type.Array(Type.String(), { description: 'Floating IPs that it has now; none where it does not tell.' }),
  version: text('Of Fulcrum, as the node has told last.'),
  since: Moment('When it joined; ISO 8601.'),
})

const Witness = Type.Object({
  id: text('Of the witness, for DELETE /cluster/nodes/{applianceId}.'),
  name: text('Name of its machine.'),
  address: text('HOST:PORT where nodes reach it; etcd has the port two above it.'),
  state: Node.properties.state,
  isVoter: yes('Counts for the quorum; one that has just joined does not yet.'),
  isLeader: yes('Leads the votes at the moment; nodes take that from it within seconds.'),
  certificateEnd: Node.properties.certificateEnd,
  version: text('Of Fulcrum there.'),
  since: Node.properties.since,
})

const State = Type.Object({
  id: text('Of the cluster.'),
  name: text('Name for people.'),
  epoch: Type.Integer({ description: 'Rises by one with each takeover of what was left of a cluster, from 1 on.' }),
  preferredNode: Type.Union([Type.String(), Type.Null()], {
    description: 'applianceId of the one of two nodes that takes over by itself, see PUT /cluster; null: neither does.',
  }),
  takeoverAfter: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Seconds for which the other node has to be gone before; null where no node is preferred.',
  }),
  histories: Type.Union(
    [
      Type.Object({
        nodeId: text('The other node.'),
        since: Type.Integer({ description: 'Number of the last shared entry that both nodes have.' }),
        edits: Type.Object(
          {
            here: Type.Integer({ description: 'On the node that answers.' }),
            there: Type.Integer({ description: 'On the other node.' }),
          },
          { description: 'Changes of the configuration since then.' },
        ),
      }),
      Type.Null(),
    ],
    {
      description:
        'Both of two nodes have taken over and were changed: nothing can be changed until PUT /cluster/resolve says which stays; null otherwise.',
    },
  ),
  quorum: yes('Whether enough nodes answer, so that changes can be made.'),
  sequence: Type.Integer({ description: 'Number of the last shared entry that the answering node has carried out.' }),
  halted: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the answering node follows the cluster no longer; null while it does.',
  }),
  removedAt: MomentOrNull('ISO 8601: since when the answering node has no longer been a member; null while it is one.'),
  nodes: Type.Array(Node, { description: 'In the order in which they joined.' }),
  witness: Type.Union([Witness, Type.Null()], {
    description: 'A vote without a node, see POST /cluster/tokens; null: the cluster has none.',
  }),
  spareVotes: Type.Integer({
    description: 'How many more of those that vote may be lost before nothing can be changed; 0: no spare vote.',
  }),
})

const Address = Type.String({
  minLength: 1,
  maxLength: 260,
  description: 'HOST or HOST:PORT where the other nodes will reach this one; the port of --peer unless told.',
})

const NamedNode = Type.Object({ id: text('Its applianceId.'), name: text('Its name.'), address: text('HOST:PORT.') })

const Preview = Type.Object({
  clusterId: text('Of the cluster.'),
  name: text('Name for people.'),
  version: text('Of Fulcrum on the member that answered.'),
  nodes: Type.Array(NamedNode, { description: 'The nodes that are in it.' }),
  removed: Type.Array(NamedNode, { description: 'Nodes that were removed, in whose place this one may join: see as.' }),
  brings: Type.Array(
    Type.Object({ resource: text('Section of the configuration.'), name: text('Name of the record.') }),
    {
      description: 'What is of this node alone and comes along; everything else is replaced by what the cluster has.',
    },
  ),
  reachable: yes('Whether the cluster reaches this node at its address.'),
  why: Type.Optional(text('Why it does not.')),
})

const Join = closed({
  token: Type.String({ minLength: 1, maxLength: 2048, description: 'Of POST /cluster/tokens on a member; secret.' }),
  address: Address,
  nodeName: Type.Optional(Name),
  as: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9-]{1,64}$',
      description:
        'Id of a node that was removed: this one takes over its id, name and the records that belong to it alone.',
    }),
  ),
  dryRun: Type.Optional(yes('Only tells what would be joined, and uses nothing of the token up.')),
})

const DAY_S = 86_400
const HOUR_S = 3_600

const Issue = closed({
  role: Type.Optional(
    Type.Enum(['node', 'witness'], {
      description:
        'What joins with it; node unless told. A witness is a third vote without a configuration: see docs/cluster.md.',
    }),
  ),
  validFor: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: DAY_S,
      description: `Seconds within which a node can join with it, 60 to ${DAY_S}; ${HOUR_S} unless told.`,
    }),
  ),
})

const Issued = Type.Object({
  id: text('Of the token.'),
  token: text('To hand over to the node that joins; shown this once, and good for one node.'),
  expiresAt: Moment('ISO 8601.'),
})

const Change = closed({
  name: Type.Optional(Name),
  address: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 260,
      description: 'HOST or HOST:PORT where the other nodes will reach it; where it listens itself is said by --peer.',
    }),
  ),
})

const Maintenance = closed({
  enabled: yes('Whether it begins or ends.'),
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'What for; shown in GET /cluster.' })),
})

const Form = closed({
  name: Name,
  address: Address,
  nodeName: Type.Optional(Name),
})

const FORCE = Type.Enum(['true', 'false'], {
  description:
    'For the node that is asked itself: it becomes a single node also where the others cannot be told, or it is the last.',
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
    message: 'Token made',
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
        return Reply.with(seen, { message: 'This is what joining would meet; nothing was changed' })
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
