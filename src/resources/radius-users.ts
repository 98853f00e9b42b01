import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { closed } from '../model/fields.ts'
import { RadiusUser } from '../model/sign-in.ts'

const disabled = Type.Boolean({
  description:
    'Whether the user cannot log in, with any domain before the name or realm after it, because a server may know one account under several names.',
})

export const radiusUsers = [
  endpoint({
    name: 'radiusUsers.list',
    method: 'GET',
    path: '/radius/users',
    effect: 'read',
    summary: 'List users who logged in through RADIUS',
    message: 'RADIUS users',
    data: Type.Array(RadiusUser),
    list: { searched: ['username'] },
    handle: (ctx) => [...ctx.section('radiusUsers').list()],
  }),
  endpoint({
    name: 'radiusUsers.get',
    method: 'GET',
    path: '/radius/users/{id}',
    effect: 'read',
    summary: 'Read one user who logged in through RADIUS',
    message: 'RADIUS user',
    data: RadiusUser,
    handle: (ctx, { params }) => ctx.section('radiusUsers').get(params.id),
  }),
  endpoint({
    name: 'radiusUsers.update',
    method: 'PUT',
    path: '/radius/users/{id}',
    effect: 'stage',
    summary: 'Disable or enable a RADIUS user; disabling, when applied, ends the sessions',
    message: 'RADIUS user stored',
    body: closed({ disabled }),
    data: NoData,
    handle: (ctx, { params, body }) => {
      ctx.section('radiusUsers').merge(params.id, body)
      return []
    },
  }),
  endpoint({
    name: 'radiusUsers.delete',
    method: 'DELETE',
    path: '/radius/users/{id}',
    effect: 'stage',
    summary: 'Delete a RADIUS user; the next login creates the user again',
    message: 'RADIUS user {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('radiusUsers').remove(params.id)
      return []
    },
  }),
]
