import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { closed } from '../model/fields.ts'

const NodeId = (description: string) => Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description })

const Preferred = closed({
  preferredNode: Type.Union([NodeId('applianceId of one of the two nodes.'), Type.Null()], {
    description: 'Node that takes over automatically when the other of two nodes fails; null: neither does.',
  }),
  takeoverAfter: Type.Optional(
    Type.Union([Type.Integer({ minimum: 5, maximum: 3600 }), Type.Null()], {
      description: 'Seconds that the other node must be unreachable first, 5 to 3600; default or null: 30.',
    }),
  ),
})

const Takeover = closed({
  partnerIsOff: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'Name of the other node, to confirm that it is off.',
  }),
  reason: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Reason; stored with the takeover and in the audit log.',
  }),
  force: Type.Optional(
    Type.Boolean({
      description: 'Take over although the other node answers: later changes on that node are set aside.',
    }),
  ),
})

const Resolve = closed({ keep: NodeId('applianceId of the node whose history is kept.') })

export const clusterPair = [
  endpoint({
    name: 'cluster.prefer',
    method: 'PUT',
    path: '/cluster',
    effect: 'act',
    extension: true,
    managedOnly: true,
    summary: 'Set which of two nodes takes over automatically when the other fails',
    message: 'The preferred node is set',
    body: Preferred,
    data: NoData,
    handle: async (ctx, { body }) => {
      await ctx.pair.prefer(body)
      return []
    },
  }),
  endpoint({
    name: 'cluster.takeOver',
    method: 'PUT',
    path: '/cluster/takeover',
    effect: 'act',
    extension: true,
    managedOnly: true,
    refuses: ['IN_USE', 'NO_QUORUM'],
    summary: 'Let this node go on alone because the other of two nodes is off',
    message: 'This node has taken the cluster over',
    body: Takeover,
    data: NoData,
    handle: async (ctx, { body: { force = false, ...asked } }) => {
      await ctx.pair.takeOver({ ...asked, isForced: force, by: ctx.actor.email })
      return []
    },
  }),
  endpoint({
    name: 'cluster.resolve',
    method: 'PUT',
    path: '/cluster/resolve',
    effect: 'act',
    extension: true,
    managedOnly: true,
    refuses: ['NODE_UNREACHABLE', 'IN_USE'],
    summary: 'Choose whose history to keep after both nodes took over; the other one is saved to a file',
    message: 'The history is chosen; the other node takes it over',
    body: Resolve,
    data: NoData,
    handle: async (ctx, { body }) => {
      await ctx.pair.resolve(body.keep)
      return []
    },
  }),
]
