import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { closed } from '../model/fields.ts'

const Uid = Type.Object({ uid: Type.String({ description: 'Id of the Layer 4 frontend.' }) })

const StickTable = closed({
  id: Type.String({ description: 'Id of the Layer 4 frontend.' }),
  elements: Type.Array(
    closed({
      key: Type.String({ description: 'Key of the entry: the client’s address.' }),
      mark: Type.Integer({ description: 'Firewall mark that identifies the service in the kernel.' }),
      expires: Type.String({
        description: 'Time until the entry expires unless the client comes back, such as 1h 2m 3s.',
      }),
      clientIp: Type.String({
        description: 'Address of the client, or of its network if a mask groups clients.',
      }),
      serviceIp: Type.String({ description: 'Address of the frontend.' }),
      servicePort: Type.Integer({
        description: 'Port of the frontend; with several ports, the first: the entry applies to all.',
      }),
    }),
    { description: 'One entry per client that persists on a real server; none without persistence.' },
  ),
})

const cleared = (id: string, { isDryRun, left }: { readonly isDryRun: boolean; readonly left: number }) => {
  const nothing: never[] = []
  const beside = { uid: id }
  if (isDryRun) {
    const message = 'Recorded only: the trial profile changes nothing on this machine'
    return Reply.with(nothing, { beside, message, headers: { 'X-Dry-Run': 'true' } })
  }
  if (left === 0) return Reply.with(nothing, { beside })
  const message = `The stick table is cleared except for ${left} clients that were cleared several times: try again later`
  return Reply.with(nothing, { beside, message })
}

export const stickTables = [
  endpoint({
    name: 'stickTables.get',
    method: 'GET',
    path: '/ipvsDirector/sticktable/{id}',
    effect: 'read',
    refuses: ['NOT_SUPPORTED'],
    summary: 'List the clients of a Layer 4 frontend that persist on a real server',
    message: 'Stick table',
    data: StickTable,
    beside: Uid,
    handle: async (ctx, { params: { id } }) =>
      Reply.with({ id, elements: [...(await ctx.stickTables.list(id))] }, { beside: { uid: id } }),
  }),
  endpoint({
    name: 'stickTables.clear',
    method: 'DELETE',
    path: '/ipvsDirector/sticktable/{id}',
    effect: 'act',
    staged: true,
    refuses: ['NOT_SUPPORTED', 'IN_USE', 'APPLY_IN_PROGRESS', 'APPLY_PARTIAL'],
    summary: 'Clear the persistence of all clients of a Layer 4 frontend: their next connections are balanced anew',
    message: 'The stick table is cleared; open connections continue',
    data: NoData,
    beside: Uid,
    handle: async (ctx, { params: { id } }) => cleared(id, await ctx.stickTables.clear(id, undefined)),
  }),
  endpoint({
    name: 'stickTables.clearKey',
    method: 'DELETE',
    path: '/ipvsDirector/sticktable/{id}/{key}',
    effect: 'act',
    staged: true,
    refuses: ['NOT_SUPPORTED', 'IN_USE', 'APPLY_IN_PROGRESS', 'APPLY_PARTIAL'],
    summary: 'Clear the persistence of one client of a Layer 4 frontend: its next connection is balanced anew',
    message: 'The entry {key} is cleared; open connections continue',
    data: NoData,
    beside: Uid,
    handle: async (ctx, { params: { id, key } }) => cleared(id, await ctx.stickTables.clear(id, key)),
  }),
]
