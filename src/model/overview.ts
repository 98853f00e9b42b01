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
      total: count(`All of them; ${more}.`),
      up: count('Those that serve.'),
      down: count('Those that should, and do not.'),
    },
    { description: what },
  )

const Servers = Type.Object(
  {
    total: count('Memberships: a real server counts once for each backend that holds it.'),
    up: count('Their health check passes.'),
    down: count('Their health check fails.'),
    checking: count('Their check is about to find out.'),
    drained: count('They finish what they have.'),
    halted: count('They take nothing.'),
    unknown: count('Online, but not checked, or with unknown health.'),
  },
  { description: 'Real servers. Drained and halted ones are in no other count.' },
)

export const LayerOverview = Type.Object(
  {
    problem: perhaps('Why there are no figures; null when there are.'),
    frontends: Standing('Frontends.', 'those that are off are neither up nor down'),
    backends: Standing(
      'Backends.',
      'those without servers, unused ones of Layer 4, and those that nothing is known of are neither up nor down',
    ),
    reals: Servers,
    traffic: Type.Object(
      {
        sessions: figure('Open sessions of frontends; of Layer 4 established connections to real servers'),
        newPerSecond: figure('New sessions, of Layer 4 connections, a second'),
        requestsPerSecond: figure('HTTP requests a second; of Layer 4 none'),
        bytesInPerSecond: figure('Bytes from clients a second; Layer 4 only'),
        bytesOutPerSecond: figure('Bytes to clients a second; Layer 4 only'),
      },
      { description: 'Traffic now, of all frontends.' },
    ),
  },
  { description: 'A layer at a glance.', title: 'LayerOverview' },
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
    kind: Type.Enum([...ATTENTION_KINDS], { description: 'What it is about.' }),
    severity: Type.Enum(['critical', 'warning'], { description: 'critical: something is not served, or soon.' }),
    message: text('For people, as a sentence.'),
    resource: text('Section or list of what it is about; empty if there is none.'),
    resourceId: text('Its id; empty where it has none.'),
    name: text('Its name.'),
  },
  { description: 'Something that needs a person.' },
)
export type Attention = Static<typeof Attention>

export const NodeOverview = Type.Object(
  {
    id: text('Node.'),
    name: text('Its name; of a node without a cluster that of the machine.'),
    isSelf: Type.Boolean({ description: 'Whether it is the one that answers.' }),
    state: Type.Enum(['online', 'unreachable', 'unknown'], { description: 'As the answering node sees it.' }),
    isLeader: Type.Boolean({ description: 'Whether it leads the shared log; true without a cluster.' }),
    inMaintenance: Type.Boolean({ description: 'Whether somebody works on it.' }),
    version: text('Of Fulcrum.'),
  },
  { description: 'A node.' },
)

export const Overview = Type.Object({
  time: Moment('ISO 8601: when this was looked at; it is kept for a second.'),
  nodeId: text('The node that answers.'),
  version: text('Of Fulcrum on it.'),
  haproxy: Type.Object(
    {
      answers: Type.Boolean({ description: 'Whether it told its figures when it was last asked.' }),
      since: Moment('ISO 8601: since when that is so.'),
      version: perhaps('Of the process that serves; null while it does not answer.'),
    },
    { description: 'HAProxy on this node.' },
  ),
  layer7: LayerOverview,
  layer4: LayerOverview,
  disk: Type.Union([Type.Object({ size: count('Bytes.'), available: count('Bytes that are left.') }), Type.Null()], {
    description: 'File system of the state folder; null if unknown.',
  }),
  nodes: Type.Array(NodeOverview, { description: 'The nodes of the cluster; this one alone without a cluster.' }),
  quorum: Type.Union([Type.Boolean(), Type.Null()], {
    description: 'Whether changes can be made; null without a cluster, or while it is not known.',
  }),
  attention: Type.Array(Attention, { description: 'What needs a person, the most urgent first; 100 at the most.' }),
  more: count('How many more need a person.'),
})
export type Overview = Static<typeof Overview>
