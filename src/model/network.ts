import { Type, type Static } from 'typebox'
import { closed, Id, idOf, Ip, Name, refersTo, Owner } from './fields.ts'

/** Addresses and routes as stored. */

export const AssignedInterface = closed({
  nodeId: Type.String({ maxLength: 64, description: 'Node.' }),
  interfaceId: Type.String({
    maxLength: 64,
    description: 'Interface of the node, see GET /{applianceId}/interfaces.',
  }),
})

export const GroupId = refersTo(idOf('IP group whose subnet contains the address.'), 'ipGroups')

const VRRP_ID_MAX = 255
/**
 * The number of VRRP ids: one for addresses without a preferred node, and one per preferred node of a cluster of at
 * most five.
 */
export const VRRP_IDS = 6

/** Three intervals, plus the delay of a lower priority, are less than the 0.6 s that a lost link may cost. */
export const ADVERT_INTERVAL_S = 0.19

const Text = (description: string) => Type.String({ maxLength: 45, description })

/** A subnet and the interface that carries its addresses on each node. */
export const IpGroup = closed({
  id: Id,
  name: Name,
  networkIp: Text('Network address; empty if the group has no subnet.'),
  networkMask: Type.Integer({ minimum: 0, maximum: 128, description: 'Prefix length; 0 if there is no subnet.' }),
  gateway: Text('Router of the subnet; empty for none.'),
  defaultGateway: Type.Boolean({ description: 'Whether the gateway is the default route of the nodes.' }),
  assignedInterfaces: Type.Array(AssignedInterface, {
    maxItems: 64,
    description: 'Interface on each node that carries the addresses of this group.',
  }),
  vrrpId: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: VRRP_ID_MAX - VRRP_IDS + 1,
      description: `First of the ${VRRP_IDS} VRRP ids for the floating IPs of the group, 1 to ${VRRP_ID_MAX - VRRP_IDS + 1}; if omitted or 0, six ids derived from the id of the group.`,
    }),
  ),
  advertInterval: Type.Optional(
    Type.Number({
      minimum: 0.1,
      maximum: 1,
      description: `Seconds between two advertisements of the node that holds the floating IPs of the group, 0.1 to 1; default ${ADVERT_INTERVAL_S}. After three missing ones another node takes over.`,
    }),
  ),
  preempt: Type.Optional(
    Type.Boolean({
      description:
        'Whether the floating IPs of the group return automatically to the preferred node, a minute after it is back; default: they stay on their node.',
    }),
  ),
  connectionSync: Type.Optional(
    Type.Boolean({
      description:
        'Whether nodes synchronise Layer 4 connections over the interfaces of this group, so that connections survive a move of a floating IP. This is unsigned multicast, so these interfaces must carry nothing else; only one group may have it.',
    }),
  ),
  owner: Owner,
})
export type IpGroup = Static<typeof IpGroup>

/** An address of one node. */
export const StaticIp = closed({
  id: Id,
  nodeId: Id,
  groupId: GroupId,
  ip: Ip,
  externalPingCheck: Type.Boolean({
    description:
      'Whether the address is checked: before it is added, that no other machine has it; afterwards, by a ping from it.',
  }),
})
export type StaticIp = Static<typeof StaticIp>

/** An address of the service rather than of a node: one node holds it at a time. */
export const FloatingIp = closed({
  id: Id,
  ip: Ip,
  groupId: GroupId,
  enabled: Type.Boolean({
    description: 'A disabled floating IP is stored, but on no node; its frontends serve nothing.',
  }),
  preferredNode: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9-]{0,64}$',
      description:
        'Preferred node for this address, which then moves together with the other addresses that prefer this node; if omitted or empty, all such addresses move together.',
    }),
  ),
  owner: Owner,
})
export type FloatingIp = Static<typeof FloatingIp>

export const RouteType = Type.Enum(['default', 'static', 'policy', 'blackhole'], {
  description:
    'default: all packets without a more specific route; static: packets to one destination; policy: packets from `source`; blackhole: packets that are dropped.',
})

/** A route in one node's kernel. An empty text means that the field is not set. */
export const IpRoute = closed({
  id: Id,
  nodeId: Id,
  name: Name,
  type: RouteType,
  destination: Text('Destination network in CIDR form, or one address.'),
  source: Text('Source network in CIDR form, or one address (policy only).'),
  viaIp: Text('Next hop.'),
  interface: Type.String({
    maxLength: 64,
    description: 'Interface id; if empty, the interface follows from the next hop.',
  }),
  metric: Type.Union([Type.Integer({ minimum: 0, maximum: 4_294_967_295 }), Type.Null()], {
    description: 'Lower values are preferred, 0 to 4,294,967,295; null: default of the kernel.',
  }),
  enabled: Type.Boolean({ description: 'A disabled route is stored, but not in the kernel.' }),
})
export type IpRoute = Static<typeof IpRoute>
