import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { closed } from '../model/fields.ts'

const NodeId = (description: string) => Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$', description })

const Preferred = closed({
  preferredNode: Type.Union([NodeId('applianceId of one of the two nodes.'), Type.Null()], {
    description: 'Which of two nodes takes over by itself when the other one is gone; null: neither does.',
  }),
  takeoverAfter: Type.Optional(
    Type.Union([Type.Integer({ minimum: 5, maximum: 3600 }), Type.Null()], {
      description:
        'Seconds for which the other node has to be gone, 5 to 3600; 30 as long as none are chosen, or null.',
    }),
  ),
})

const Takeover = closed({
  partnerIsOff: Type.String({ minLength: 1, maxLength: 255, description: 'Name of the other node, which is off.' }),
  reason: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Why; kept with the takeover, and in the audit log.',
  }),
  force: Type.Optional(
    Type.Boolean({ description: 'Although the other node answers: what is changed there from then on is set aside.' }),
  ),
})

const Resolve = closed({ keep: NodeId('applianceId of the node whose history stays.') })

export const clusterPair = [
  endpoint({
    name: 'cluster.prefer',
    method: 'PUT',
    path: '/cluster',
    effect: 'act',
    extension: true,
    managedOnly: true,
    summary: 'Say which of two nodes takes over by itself when the other one is gone',
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
    summary: 'Go on with this node alone, as the other one of two is off',
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
    summary: 'Say whose history stays where both nodes have taken over; that of the other one is set aside as a file',
    message: 'The history is chosen; the other node takes it over',
    body: Resolve,
    data: NoData,
    handle: async (ctx, { body }) => {
      await ctx.pair.resolve(body.keep)
      return []
    },
  }),
]
