import { Type } from 'typebox'
import type { SectionReader } from '../api/context.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { newId } from '../ids.ts'
import { type Group, Ids } from '../model/access.ts'
import { closed, Id, Name } from '../model/fields.ts'

const GroupRead = Type.Object({
  id: Id,
  name: Name,
  users: Ids('Members.'),
  roles: Ids('Roles that members hold.'),
})

const GroupCreate = closed({
  id: Type.Union([Id, Type.Literal('')], {
    description: 'Id of the group: 1 to 64 letters, digits and dashes; empty makes one up.',
  }),
  name: Name,
})

function shown(group: Group, users: SectionReader<'users'>) {
  const members = users.list().filter((user) => user.groups.includes(group.id))
  return { ...group, users: members.map((user) => user.id) }
}

export const groups = [
  endpoint({
    name: 'groups.list',
    method: 'GET',
    path: '/rbac/groups',
    effect: 'read',
    staged: false,
    summary: 'List groups',
    message: 'Groups',
    data: Type.Array(GroupRead),
    handle: (ctx) =>
      ctx
        .section('groups')
        .list()
        .map((group) => shown(group, ctx.section('users'))),
  }),
  endpoint({
    name: 'groups.create',
    method: 'POST',
    path: '/rbac/groups',
    effect: 'stage',
    staged: true,
    status: 201,
    summary: 'Create a group',
    message: 'Group stored',
    body: GroupCreate,
    data: CreatedId,
    handle: (ctx, { body }) => {
      const id = body.id === '' ? newId() : body.id
      ctx.section('groups').create({ id, name: body.name, roles: [] })
      return { id }
    },
  }),
  endpoint({
    name: 'groups.get',
    method: 'GET',
    path: '/rbac/groups/{id}',
    effect: 'read',
    staged: false,
    summary: 'Read a group',
    message: 'Group',
    data: GroupRead,
    handle: (ctx, { params }) => {
      const group = ctx.section('groups').get(params.id)
      return shown(group, ctx.section('users'))
    },
  }),
  endpoint({
    name: 'groups.update',
    method: 'PUT',
    path: '/rbac/groups/{id}',
    effect: 'stage',
    staged: true,
    summary: 'Rename a group',
    message: 'Group stored',
    body: closed({ name: Name }),
    handle: (ctx, { params, body }) => ctx.section('groups').merge(params.id, { name: body.name }),
  }),
  endpoint({
    name: 'groups.delete',
    method: 'DELETE',
    path: '/rbac/groups/{id}',
    effect: 'stage',
    staged: true,
    summary: 'Delete a group; its members leave it',
    message: 'Group {id} will be deleted with apply',
    handle: (ctx, { params }) => {
      const users = ctx.section('users')
      ctx.section('groups').get(params.id)
      for (const user of users.list()) {
        if (!user.groups.includes(params.id)) continue
        users.merge(user.id, { groups: user.groups.filter((id) => id !== params.id) })
      }
      ctx.section('groups').remove(params.id)
    },
  }),
]
