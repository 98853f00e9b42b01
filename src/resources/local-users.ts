import { Type } from 'typebox'
import type { SectionReader } from '../context/sections.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { type FieldProblem, refuseFields } from '../base/errors.ts'
import { type Owner, policyProblems } from '../rules/password.ts'
import { newId } from '../base/ids.ts'
import { Email, Ids, PersonName, type User } from '../model/access.ts'
import { closed, Id } from '../model/fields.ts'

/** A user as the API shows it: never the password. */
const UserRead = Type.Object({
  id: Id,
  email: Email,
  firstName: PersonName,
  lastName: PersonName,
  disabled: Type.Boolean({ description: 'Whether the user cannot log in.' }),
  groups: Ids('groups', 'Groups the user belongs to.'),
  roles: Ids('roles', 'Roles the user holds directly.'),
})

const Password = Type.String({
  maxLength: 4096,
  description: 'New password; 8 to 1024 characters, and neither a common password nor the name of the user.',
})

/** The specification has a string in requests and a boolean in answers; both are accepted. */
const Disabled = Type.Union([Type.Boolean(), Type.Enum(['true', 'false', '1', '0', ''])], {
  description: 'Whether the user cannot log in: a boolean, or one of "true", "false", "1", "0", "" (false).',
})

const names = {
  firstname: Type.Optional(PersonName),
  lastname: Type.Optional(PersonName),
  firstName: Type.Optional(PersonName),
  lastName: Type.Optional(PersonName),
}

const UserCreate = closed({
  email: Email,
  ...names,
  password: Password,
  disabled: Disabled,
  groups: Type.Optional(Ids('groups', 'Groups to join.')),
  roles: Type.Optional(Ids('roles', 'Roles to hold.')),
})

const UserUpdate = closed({
  email: Type.Optional(Email),
  ...names,
  password: Type.Optional(Password),
  disabled: Type.Optional(Disabled),
  groups: Type.Optional(Ids('groups', 'Groups of the user; replaces the list.')),
  roles: Type.Optional(Ids('roles', 'Roles of the user; replaces the list.')),
})

const isDisabled = (value: boolean | string) => value === true || value === 'true' || value === '1'

function shown(user: User) {
  const { id, email, firstName, lastName, disabled, groups, roles } = user
  return { id, email, firstName, lastName, disabled, groups, roles }
}

const SPELLINGS = { firstname: 'firstName', lastname: 'lastName' } as const

interface SentNames {
  readonly firstName?: string
  readonly lastName?: string
}

function passwordProblems(password: unknown, owner: Partial<Owner>): readonly FieldProblem[] {
  if (typeof password !== 'string') return []
  const problems = policyProblems(password, { ...owner, email: owner.email ?? '' })
  return problems.map((message) => ({ field: 'password', code: 'PASSWORD_POLICY', message }))
}

const ownerOf = ({ email, ...body }: SentNames & { readonly email?: string }): Partial<Owner> => ({
  ...(email === undefined ? {} : { email }),
  firstName: body.firstName,
  lastName: body.lastName,
})

/** Drops the fields that were not sent. */
const defined = (owner: Partial<Owner>): Partial<Owner> =>
  Object.fromEntries(Object.entries(owner).filter(([, value]) => value !== undefined))

const listed = (users: SectionReader<'users'>) => users.list().map(shown)

export const localUsers = [
  endpoint({
    name: 'localUsers.list',
    method: 'GET',
    path: '/localUsers/users',
    effect: 'read',
    summary: 'List local users',
    message: 'Local users',
    data: Type.Array(UserRead),
    list: { searched: ['email', 'firstName', 'lastName'] },
    handle: (ctx) => listed(ctx.section('users')),
  }),
  endpoint({
    name: 'localUsers.create',
    method: 'POST',
    path: '/localUsers/users',
    effect: 'stage',
    status: 201,
    refuses: ['PASSWORD_POLICY'],
    summary: 'Create a local user; it can log in after apply',
    message: 'Local user stored; it can log in after apply',
    body: UserCreate,
    needsOneOf: [
      ['firstname', 'firstName'],
      ['lastname', 'lastName'],
    ],
    spellings: SPELLINGS,
    rules: (body) => passwordProblems(body.password, ownerOf(body)),
    data: CreatedId,
    handle: async (ctx, { body }) => {
      refuseFields(passwordProblems(body.password, ownerOf(body)))
      const id = newId()
      const passwordHash = await ctx.passwords.hash(body.password)
      const { email, firstName = '', lastName = '', groups = [], roles = [] } = body
      ctx.section('users').create({
        id,
        email,
        firstName,
        lastName,
        disabled: isDisabled(body.disabled),
        passwordHash,
        groups,
        roles,
      })
      return { id }
    },
  }),
  endpoint({
    name: 'localUsers.get',
    method: 'GET',
    path: '/localUsers/users/{id}',
    effect: 'read',
    summary: 'Read a local user',
    message: 'Local user',
    data: UserRead,
    handle: (ctx, { params }) => shown(ctx.section('users').get(params.id)),
  }),
  endpoint({
    name: 'localUsers.update',
    method: 'PUT',
    path: '/localUsers/users/{id}',
    effect: 'stage',
    extension: true,
    refuses: ['PASSWORD_POLICY', 'IN_USE'],
    summary: 'Change a local user; omitted fields keep their value',
    message: 'Local user stored',
    body: UserUpdate,
    whenNull: { groups: [], roles: [] },
    spellings: SPELLINGS,
    rules: (body) => passwordProblems(body.password, ownerOf(body)),
    handle: async (ctx, { params, body }) => {
      const stored = ctx.section('users').get(params.id)
      refuseFields(passwordProblems(body.password, { ...stored, ...defined(ownerOf(body)) }))
      ctx.section('users').merge(params.id, {
        email: body.email,
        firstName: body.firstName,
        lastName: body.lastName,
        disabled: body.disabled === undefined ? undefined : isDisabled(body.disabled),
        passwordHash: body.password === undefined ? undefined : await ctx.passwords.hash(body.password),
        groups: body.groups,
        roles: body.roles,
      })
    },
  }),
  endpoint({
    name: 'localUsers.delete',
    method: 'DELETE',
    path: '/localUsers/users/{id}',
    effect: 'stage',
    summary: 'Delete a local user; its sessions end with apply',
    message: 'Local user {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('users').remove(params.id),
  }),
]
