import { Type } from 'typebox'
import { documentedPath } from '../api/documented-path.ts'
import type { Catalog } from '../context/catalog.ts'
import type { ContextOf } from '../context/context.ts'
import type { SectionReader } from '../context/sections.ts'
import { CreatedId, endpoint, type Method } from '../api/endpoint.ts'
import { ApiError, type FieldError, refuseBody } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { Ids, type Role, Where } from '../model/access.ts'
import { closed, Id, Name } from '../model/fields.ts'
import { confinable } from '../model/confined.ts'

const Granted = closed(
  {
    path: Type.String({
      maxLength: 256,
      description: 'Path as in the API description, such as /ipvsDirector/rips/{id}.',
    }),
    methods: Type.Array(Type.Enum(['GET', 'POST', 'PUT', 'DELETE']), {
      minItems: 1,
      maxItems: 4,
      description: 'Granted methods.',
    }),
    where: Type.Optional(Where),
  },
  'A path and the methods granted on it.',
)

const RoleRead = Type.Object({
  id: Id,
  name: Name,
  users: Ids('users', 'Users that hold the role directly.'),
  groups: Ids('groups', 'Groups whose members hold the role.'),
  endpoints: Type.Array(Granted, { description: 'What the role grants.' }),
})

const fields = {
  name: Name,
  users: Ids('users', 'Users that hold the role.'),
  groups: Ids('groups', 'Groups whose members hold the role.'),
  endpoints: Type.Array(Type.Union([Id, Granted]), {
    maxItems: 10_000,
    description:
      'Endpoint ids (see GET /rbac/endpoints), or objects with path and methods, and with where to restrict them to some records.',
  }),
}

/** The two sections whose records list their roles. */
const HOLDERS = ['users', 'groups'] as const

export const roles = [
  endpoint({
    name: 'roles.list',
    method: 'GET',
    path: '/rbac/roles',
    effect: 'read',
    summary: 'List roles',
    message: 'Roles',
    data: Type.Array(RoleRead),
    list: { searched: ['name'] },
    handle: (ctx) =>
      ctx
        .section('roles')
        .list()
        .map((role) => shown(role, ctx.section('users'), ctx.section('groups'), ctx.catalog)),
  }),
  endpoint({
    name: 'roles.create',
    method: 'POST',
    path: '/rbac/roles',
    effect: 'stage',
    status: 201,
    summary: 'Create a role',
    message: 'Role stored',
    body: closed(fields),
    data: CreatedId,
    handle: (ctx, { body }) => {
      const id = newId()
      const { grants, errors } = granting(body.endpoints, ctx.catalog)
      refuseBody([...missingHolders(ctx, body), ...errors])
      ctx.section('roles').create({ id, name: body.name, builtin: false, ...grants })
      for (const holders of HOLDERS) assign(ctx.section(holders), id, body[holders])
      return { id }
    },
  }),
  endpoint({
    name: 'roles.get',
    method: 'GET',
    path: '/rbac/roles/{id}',
    effect: 'read',
    summary: 'Read a role',
    message: 'Role',
    data: RoleRead,
    handle: (ctx, { params }) => {
      const role = ctx.section('roles').get(params.id)
      return shown(role, ctx.section('users'), ctx.section('groups'), ctx.catalog)
    },
  }),
  endpoint({
    name: 'roles.update',
    method: 'PUT',
    path: '/rbac/roles/{id}',
    effect: 'stage',
    extension: true,
    refuses: ['IN_USE'],
    summary: 'Change a role; omitted fields keep their value',
    message: 'Role stored',
    body: closed({
      name: Type.Optional(fields.name),
      users: Type.Optional(fields.users),
      groups: Type.Optional(fields.groups),
      endpoints: Type.Optional(fields.endpoints),
    }),
    handle: (ctx, { params, body }) => {
      const role = ctx.section('roles').get(params.id)
      const { grants, errors } = body.endpoints === undefined ? NO_GRANTS : granting(body.endpoints, ctx.catalog)
      refuseBody([...missingHolders(ctx, body), ...errors])
      if (role.builtin) refuseOther(role, body.name, grants, ctx.catalog)
      else {
        const { confined, ...rest } = { ...role, ...(body.name === undefined ? {} : { name: body.name }) }
        ctx.section('roles').put({ ...rest, ...(grants ?? (confined && { confined })) })
      }
      for (const holders of HOLDERS) {
        const wanted = body[holders]
        if (wanted !== undefined) assign(ctx.section(holders), params.id, wanted)
      }
    },
  }),
  endpoint({
    name: 'roles.delete',
    method: 'DELETE',
    path: '/rbac/roles/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete a role; its holders lose it',
    message: 'Role {id} will be deleted with apply',
    handle: (ctx, { params }) => {
      const role = ctx.section('roles').get(params.id)
      if (role.builtin) refuseBuiltin(role)
      for (const holders of HOLDERS) assign(ctx.section(holders), params.id, [])
      ctx.section('roles').remove(params.id)
    },
  }),
  endpoint({
    name: 'roles.endpoints',
    method: 'GET',
    path: '/rbac/endpoints',
    effect: 'read',
    extension: true,
    summary: 'List the endpoints that roles can grant, with their ids',
    message: 'Endpoints',
    list: { searched: ['name', 'path', 'summary'], hasOwnOrder: true },
    data: Type.Array(
      Type.Object({
        id: Type.String({ description: 'Id for the endpoints of a role.' }),
        name: Type.String({ description: 'Resource and verb.' }),
        method: Type.String({ description: 'HTTP method.' }),
        path: Type.String({ description: 'Path relative to /api/v1.' }),
        summary: Type.String({ description: 'Summary of the endpoint.' }),
      }),
    ),
    handle: (ctx) => [...ctx.catalog.list()],
  }),
]

/** Accepts a default role only as it is. */
function refuseOther(role: Role, name: string | undefined, grants: Grants | undefined, catalog: Catalog): void {
  const granted = catalog.grantedBy(role)
  const sent = new Set(grants?.endpoints ?? granted)
  const isSame = sent.size === granted.size && [...sent].every((id) => granted.has(id))
  const isNamedSo = name === undefined || name === role.name
  if (!isSame || !isNamedSo || grants?.confined !== undefined) refuseBuiltin(role)
}

function refuseBuiltin(role: Role): never {
  throw new ApiError('IN_USE', `${role.name} is a default role: only its users and groups can change`, {
    data: { usage: [{ resource: 'roles', id: role.id, name: role.name, field: 'builtin' }] },
  })
}

function shown(role: Role, users: SectionReader<'users'>, groups: SectionReader<'groups'>, catalog: Catalog) {
  const holds = (holder: { readonly roles: readonly string[] }) => holder.roles.includes(role.id)
  const granted = catalog.grantedBy(role)
  const methods = new Map<string, Method[]>()
  for (const entry of catalog.list()) {
    if (!granted.has(entry.id)) continue
    methods.set(entry.path, [...(methods.get(entry.path) ?? []), entry.method])
  }
  return {
    id: role.id,
    name: role.name,
    users: users
      .list()
      .filter(holds)
      .map((user) => user.id),
    groups: groups
      .list()
      .filter(holds)
      .map((group) => group.id),
    endpoints: [...[...methods].map(([path, named]) => ({ path, methods: named })), ...confinedShown(role, catalog)],
  }
}

/** Lists confined rights, with the methods of one path that have the same records as one entry. */
function confinedShown({ confined = [] }: Role, catalog: Catalog) {
  const entries = new Map<string, { path: string; methods: Method[]; where: Where }>()
  const known = new Map(catalog.list().map((entry) => [entry.id, entry]))
  for (const { endpoint: id, where } of confined) {
    const named = known.get(id)
    if (named === undefined) continue
    const key = `${named.path} ${JSON.stringify(where)}`
    const entry = entries.get(key) ?? { path: named.path, methods: [], where }
    entry.methods.push(named.method)
    entries.set(key, entry)
  }
  return [...entries.values()]
}

type Grants = Pick<Role, 'endpoints' | 'confined'>
interface Granting {
  readonly grants?: Grants
  readonly errors: readonly FieldError[]
}
type Sent = string | { readonly path: string; readonly methods: readonly string[]; readonly where?: Where }

const callOf = ({ method, path }: { readonly method: string; readonly path: string }) =>
  `${method} ${documentedPath({ path })}`

const NO_GRANTS: Granting = { errors: [] }

/** Converts all forms into endpoint ids; reports every entry that names no endpoint, or no records. */
function granting(sent: readonly Sent[], catalog: Catalog): Required<Granting> {
  const known = new Map(catalog.list().map((entry) => [entry.id, entry]))
  const ids = new Map(catalog.list().map((entry) => [callOf(entry), entry.id]))
  const errors: FieldError[] = []
  const granted = new Set<string>()
  const confined: NonNullable<Role['confined']> = []
  for (const [index, entry] of sent.entries()) {
    const named =
      typeof entry === 'string'
        ? [entry]
        : entry.methods.map((method) => ids.get(callOf({ method, path: entry.path })) ?? '')
    const where = typeof entry === 'string' ? undefined : entry.where
    const field = `endpoints.${index}`
    for (const id of named) {
      const name = known.get(id)?.name
      const problem = name === undefined ? NO_ENDPOINT : where && whereProblem(name, where)
      if (problem !== undefined) errors.push({ ...problem, field: `${field}${problem.field}` })
      else if (where === undefined) granted.add(id)
      else confined.push({ endpoint: id, where })
    }
  }
  // The order is irrelevant, and answers use that of the table: so an entry that is sent back is no change.
  const inOrder = [...known.keys()]
  // A right for every record includes the right for some.
  const partly = inOrder.flatMap((id) => (granted.has(id) ? [] : confined.filter(({ endpoint: one }) => one === id)))
  const endpoints = inOrder.filter((id) => granted.has(id))
  const grants = { endpoints, ...(partly.length === 0 ? {} : { confined: partly }) }
  return { grants, errors }
}

const NO_ENDPOINT: FieldError = {
  field: '',
  code: 'NOT_FOUND',
  message: 'is not an endpoint; see GET /rbac/endpoints',
}

/** Returns the problem, with its place within the entry. */
function whereProblem(name: string, where: Where): FieldError | undefined {
  if (Object.keys(where).length === 0)
    return { field: '.where', code: 'REQUIRED', message: 'restricts nothing: give owner, names or ids' }
  if (confinable(name) !== undefined) return undefined
  const message = `is only for endpoints that list, read or change single records with an owner, not for ${name}`
  return { field: '.where', code: 'NOT_ALLOWED', message }
}

type Named = { readonly [K in (typeof HOLDERS)[number]]?: readonly string[] | undefined }

/** Returns problems for users and groups that are to hold the role and do not exist. */
const missingHolders = (ctx: ContextOf['stage'], named: Named): readonly FieldError[] =>
  HOLDERS.flatMap((holders) =>
    (named[holders] ?? []).flatMap((id, index) =>
      ctx.section(holders).find(id) === undefined
        ? [{ field: `${holders}.${index}`, code: 'NOT_FOUND', message: 'does not exist' }]
        : [],
    ),
  )

/** The operations that users and groups share here. */
interface Holders {
  list(): readonly { readonly id: string; readonly roles: readonly string[] }[]
  merge(id: string, patch: { readonly roles: string[] }): void
}

/** Makes exactly `wanted` hold the role, by editing the holders, which is where it is stored. */
function assign(holders: Holders, role: string, wanted: readonly string[]): void {
  for (const holder of holders.list()) {
    const has = holder.roles.includes(role)
    if (has === wanted.includes(holder.id)) continue
    const next = has ? holder.roles.filter((id) => id !== role) : [...holder.roles, role]
    holders.merge(holder.id, { roles: next })
  }
}
