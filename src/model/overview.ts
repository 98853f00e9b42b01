import { type Static, Type } from 'typebox'
import { Moment } from './fields.ts'

/** The first screen in one answer: what it needs beyond the lists of other endpoints. */

const count = (description: string) => Type.Integer({ description })
const text = (description: string) => Type.String({ description })
const perhaps = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const figure = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { description: `${description}; null while unknown.` })

const Standing = (what: string, more: string) =>
  Type.Object(
    {
      total: count(`Total number; ${more}.`),
      up: count('Number that are serving.'),
      down: count('Number that should be serving, but are not.'),
    },
    { description: what },
  )

const Servers = Type.Object(
  {
    total: count('Memberships: a real server counts once for each backend that contains it.'),
    up: count('Number whose health check passes.'),
    down: count('Number whose health check fails.'),
    checking: count('Number whose health check has no result yet.'),
    drained: count('Number that are drained: they only finish open connections.'),
    halted: count('Number that are halted: they receive no traffic.'),
    unknown: count('Number that are online, but not checked or of unknown health.'),
  },
  { description: 'Real servers. Drained and halted ones are counted nowhere else.' },
)

export const LayerOverview = Type.Object(
  {
    problem: perhaps('Why there are no figures; null if there are.'),
    frontends: Standing('Frontends.', 'disabled ones are neither up nor down'),
    backends: Standing(
      'Backends.',
      'those without servers, unused ones of Layer 4, and those of unknown health are neither up nor down',
    ),
    reals: Servers,
    traffic: Type.Object(
      {
        sessions: figure('Open sessions of frontends; on Layer 4, established connections to real servers'),
        newPerSecond: figure('New sessions per second; on Layer 4, new connections'),
        requestsPerSecond: figure('HTTP requests per second; Layer 7 only'),
        bytesInPerSecond: figure('Bytes from clients per second; Layer 4 only'),
        bytesOutPerSecond: figure('Bytes to clients per second; Layer 4 only'),
      },
      { description: 'Current traffic of all frontends.' },
    ),
  },
  { description: 'Summary of a layer.', title: 'LayerOverview' },
)
export type LayerOverview = Static<typeof LayerOverview>

export const ATTENTION_KINDS = [
  'haproxy',
  'layer4',
  'backendDown',
  'serverDown',
  'certificate',
  'apply',
  'pending',
  'disk',
  'statistics',
  'cluster',
  'job',
] as const

export const Attention = Type.Object(
  {
    kind: Type.Enum([...ATTENTION_KINDS], { description: 'Kind of problem.' }),
    severity: Type.Enum(['critical', 'warning'], {
      description: 'critical: traffic is not served, or soon will not be.',
    }),
    message: text('Description of the problem, one sentence.'),
    resource: text('Section or list of the affected record; empty if there is none.'),
    resourceId: text('Id of the record; empty if it has none.'),
    name: text('Name of the record.'),
  },
  { description: 'A problem that needs attention.' },
)
export type Attention = Static<typeof Attention>

export const NodeOverview = Type.Object(
  {
    id: text('Id of the node.'),
    name: text('Name of the node; without a cluster, that of the machine.'),
    isSelf: Type.Boolean({ description: 'Whether this is the answering node.' }),
    state: Type.Enum(['online', 'unreachable', 'unknown'], { description: 'State as seen by the answering node.' }),
    isLeader: Type.Boolean({ description: 'Whether the node leads the shared log; true without a cluster.' }),
    inMaintenance: Type.Boolean({ description: 'Whether the node is in maintenance.' }),
    version: text('Version of Fulcrum on the node.'),
  },
  { description: 'A node.' },
)

export const Overview = Type.Object({
  time: Moment('ISO 8601: when the overview was made; it is cached for a second.'),
  nodeId: text('Id of the answering node.'),
  version: text('Version of Fulcrum on the answering node.'),
  haproxy: Type.Object(
    {
      answers: Type.Boolean({ description: 'Whether HAProxy answered the last query for its figures.' }),
      since: Moment('ISO 8601: since when this is the case.'),
      version: perhaps('Version of the running process; null while it does not answer.'),
    },
    { description: 'HAProxy on this node.' },
  ),
  layer7: LayerOverview,
  layer4: LayerOverview,
  disk: Type.Union([Type.Object({ size: count('Bytes.'), available: count('Available bytes.') }), Type.Null()], {
    description: 'File system of the state folder; null if unknown.',
  }),
  nodes: Type.Array(NodeOverview, { description: 'Nodes of the cluster; without a cluster, only this node.' }),
  quorum: Type.Union([Type.Boolean(), Type.Null()], {
    description: 'Whether changes can be made; null without a cluster, or while unknown.',
  }),
  attention: Type.Array(Attention, { description: 'Problems that need attention, most urgent first; at most 100.' }),
  more: count('Number of further problems.'),
})
export type Overview = Static<typeof Overview>
