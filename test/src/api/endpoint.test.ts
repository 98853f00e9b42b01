import { Type } from 'typebox'
import t from 'tap'
import { type Endpoint, endpoint, NoData, type ParamNames } from '../../../src/api/endpoint.ts'
import { Reply } from '../../../src/api/reply.ts'
import { closed } from '../../../src/model/fields.ts'

const common = { staged: false, summary: 's', message: 'm' } as const

t.test('anything that a literal leaves out is the safe choice', async (test) => {
  const ping = endpoint({ ...common, name: 'a.b', method: 'GET', path: '/a', effect: 'read', handle: () => undefined })
  test.equal(ping.access, 'granted', 'a role must grant it')
  test.match(ping, { extension: false, reveals: false, status: 200, produces: ['application/json'] })
  test.match(ping, { query: undefined, body: undefined, data: undefined })
})

t.test('the values in a literal are kept', async (test) => {
  const body = closed({ a: Type.Integer() })
  const query = closed({ q: Type.Optional(Type.String()) })
  const handle = () => Reply.with<never[]>([], {})
  const made = endpoint({
    ...common,
    name: 'a.b',
    method: 'POST',
    path: '/a/{id}',
    effect: 'stage',
    staged: true,
    access: 'public',
    extension: true,
    reveals: true,
    status: 201,
    produces: ['text/csv'],
    query,
    body,
    data: NoData,
    handle,
  })
  test.match(made, { name: 'a.b', method: 'POST', path: '/a/{id}', effect: 'stage', staged: true, access: 'public' })
  test.match(made, { extension: true, reveals: true, status: 201, produces: ['text/csv'] })
  test.equal(made.query, query)
  test.equal(made.body, body)
  test.equal(made.data, NoData)
  test.equal(made.handle, handle)
})

/** Never called: that it compiles, with exactly these errors, is the test (`npx tsc -p .`). */
const literals = (): readonly Endpoint[] => [
  endpoint({
    ...common,
    name: 'typed.request',
    method: 'PUT',
    path: '/{applianceId}/things/{id}',
    effect: 'stage',
    query: closed({ q: Type.Optional(Type.Integer()) }),
    body: closed({ weight: Type.Integer() }),
    data: Type.Object({ weight: Type.Integer() }),
    handle: (ctx, { params, query, body }) => {
      const node: string = params.applianceId
      const limit: number | undefined = query.q
      ctx.section('realServers').merge(params.id, { name: node, weight: limit ?? body.weight })
      return body
    },
  }),
  endpoint({
    ...common,
    name: 'read.stages',
    method: 'GET',
    path: '/a/{id}',
    effect: 'read',
    // @ts-expect-error a read handler cannot stage
    handle: (ctx, { params }) => ctx.section('realServers').remove(params.id),
  }),
  endpoint({
    ...common,
    name: 'read.acts',
    method: 'GET',
    path: '/b/{id}',
    effect: 'read',
    // @ts-expect-error a read handler cannot operate a service
    handle: async (ctx, { params }) => void (await ctx.units.operate(params.id, 'reload', 'a@b')),
  }),
  endpoint({
    ...common,
    name: 'read.applies',
    method: 'GET',
    path: '/c',
    effect: 'read',
    // @ts-expect-error a read handler cannot apply
    handle: async (ctx) => void (await ctx.applying.apply({ force: undefined, comment: undefined }, ctx)),
  }),
  endpoint({
    ...common,
    name: 'act.stages',
    method: 'PUT',
    path: '/d/{id}',
    effect: 'act',
    // @ts-expect-error an acting endpoint cannot stage
    handle: (ctx, { params }) => ctx.section('realServers').merge(params.id, { state: 'drained' }),
  }),
  endpoint({
    ...common,
    name: 'stage.applies',
    method: 'PUT',
    path: '/e',
    effect: 'stage',
    // @ts-expect-error a staging endpoint cannot apply
    handle: async (ctx) => void (await ctx.applying.apply({ force: undefined, comment: undefined }, ctx)),
  }),
  endpoint({
    ...common,
    name: 'act.discards',
    method: 'PUT',
    path: '/i',
    effect: 'act',
    // @ts-expect-error of the unit of work, an acting endpoint notes logins only
    handle: (ctx) => void ctx.work.discard('all'),
  }),
  endpoint({
    ...common,
    name: 'unknown.parameter',
    method: 'GET',
    path: '/f/{id}',
    effect: 'read',
    // @ts-expect-error unknown path parameter
    handle: (_ctx, { params }) => void params.key,
  }),
  endpoint({
    ...common,
    name: 'no.body',
    method: 'PUT',
    path: '/g',
    effect: 'stage',
    // @ts-expect-error an endpoint without a body schema has no body
    handle: (_ctx, { body }) => void body.name,
  }),
  endpoint({
    ...common,
    name: 'wrong.answer',
    method: 'GET',
    path: '/h',
    effect: 'read',
    data: Type.Integer(),
    // @ts-expect-error wrong response type
    handle: () => 'no',
  }),
  endpoint({
    ...common,
    name: 'wrong.later',
    method: 'GET',
    path: '/i',
    effect: 'read',
    data: Type.Integer(),
    // @ts-expect-error wrong response type behind a promise
    handle: async () => Reply.with('no', {}),
  }),
  endpoint({
    ...common,
    name: 'wrong.section',
    method: 'GET',
    path: '/j',
    effect: 'read',
    // @ts-expect-error there is no such section
    handle: (ctx) => void ctx.section('nonesuch').list(),
  }),
]

/** Compiles only when both types are the same. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

t.test('the compiler derives parameter names from the path', async (test) => {
  const none: Same<ParamNames<'/ping'>, never> = true
  const both: Same<ParamNames<'/{applianceId}/things/{id}/drain'>, 'applianceId' | 'id'> = true
  test.ok(none && both)
  test.type(literals, 'function')
})
