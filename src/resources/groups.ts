import { Type } from 'typebox'
import type { SectionReader } from '../context/sections.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { type Group, Ids, type Role, type User } from '../model/access.ts'
import { closed, Id, Name } from '../model/fields.ts'
import { nameRecord, nameUsers } from '../rules/names.ts'

const GroupRead = Type.Object({
  id: Id,
  name: Name,
  users: Ids('users', 'Members.'),
  roles: Ids('roles', 'Roles that members of the group hold.'),
})

const GroupCreate = closed({
  id: Type.Union([Id, Type.Literal('')], {
    description: 'Id of the group: 1 to 64 letters, digits and dashes; if empty, an id is generated.',
  }),
  name: Name,
})

function shown(group: Group, users: SectionReader<'users'>) {
  const members = users.list().filter((user) => user.groups.includes(group.id))
  return { ...group, users: members.map((user) => user.id) }
}

/** Returns the group's members, and the roles it gives them. */
function usageOf(group: Group, users: readonly User[], roles: readonly Role[]) {
  const members = users.filter((user) => user.groups.includes(group.id))
  const given = roles.filter((role) => group.roles.includes(role.id))
  return [
    ...members.map(({ id, email }) => ({ resource: 'users', id, name: email, field: 'groups' })),
    ...given.map(({ id, name }) => ({ resource: 'roles', id, name, field: 'groups' })),
  ]
}

export const groups = [
  endpoint({
    name: 'groups.list',
    method: 'GET',
    path: '/rbac/groups',
    effect: 'read',
    summary: 'List groups',
    message: 'Groups',
    data: Type.Array(GroupRead),
    list: { searched: ['name'] },
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
    summary: 'Delete a group that has neither members nor roles',
    message: 'Group {id} will be deleted with apply',
    handle: (ctx, { params }) => {
      const group = ctx.section('groups').get(params.id)
      const usage = usageOf(group, ctx.section('users').list(), ctx.section('roles').list())
      if (usage.length > 0) {
        const message = `The ${nameRecord('groups', group)} still has members or roles; remove these first: ${nameUsers(usage)}`
        throw new ApiError('IN_USE', message, { data: { usage } })
      }
      ctx.section('groups').remove(params.id)
    },
  }),
]
