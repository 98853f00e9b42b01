import { Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { Ip } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })

const Interface = Type.Object({
  id: text('Id of the interface; survives reboots and, for a network card, a new name.'),
  name: text('Name in the kernel, such as eth0.'),
  mac: text('Hardware address.'),
  mtu: Type.Integer({ description: 'Largest packet in bytes (MTU).' }),
  state: Type.Enum(['up', 'down', 'unknown'], { description: 'State of the link, from the kernel.' }),
  addresses: Type.Array(
    Type.Object({
      ip: Ip,
      prefix: Type.Integer({ description: 'Prefix length, 0 to 128.' }),
    }),
    { description: 'Current addresses, of any origin; without link-local ones.' },
  ),
})

export const interfaces = [
  endpoint({
    name: 'interfaces.list',
    method: 'GET',
    path: '/{applianceId}/interfaces',
    effect: 'read',
    extension: true,
    summary: 'List the network interfaces of a node as they are now',
    message: 'Network interfaces',
    list: { searched: ['name', 'mac', 'addresses.ip'], hasOwnOrder: true },
    data: Type.Array(Interface),
    handle: async (ctx) =>
      (await ctx.machine.interfaces()).map((found) => ({
        ...found,
        addresses: found.addresses.map(({ ip, prefix }) => ({ ip, prefix })),
      })),
  }),
]
