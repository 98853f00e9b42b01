import { Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { closed, Moment } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })
const Fields = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
  description: 'The record, or for an update its changed fields; null if there was none. Secrets read `**`.',
})

const RevisionEntry = Type.Object({
  revision: Type.Integer({ description: 'Number of the revision; rises by one with each apply.' }),
  applyId: text('Id of the apply that created the revision.'),
  by: text('E-mail of the user who applied, or fulcrum if an apply was reverted.'),
  at: Moment('ISO 8601.'),
  comment: text('Comment of the apply.'),
  count: Type.Integer({ description: 'Number of changed records.' }),
})

const Difference = Type.Object({
  op: Type.Enum(['create', 'update', 'delete'], { description: 'From the first revision to the second.' }),
  resource: text('Section of the configuration.'),
  resourceId: text('Record.'),
  name: text('Name of the record.'),
  before: Fields,
  after: Fields,
})

export const revisions = [
  endpoint({
    name: 'revisions.list',
    method: 'GET',
    path: '/revisions',
    effect: 'read',
    extension: true,
    summary: 'List applies, newest first',
    message: 'Revisions',
    query: closed({
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'Maximum number of revisions, 1 to 1000; default 100.',
        }),
      ),
      before: Type.Optional(Type.Integer({ minimum: 1, description: 'Only revisions with a smaller number.' })),
    }),
    data: Type.Array(RevisionEntry),
    handle: (ctx, { query }) => [...ctx.revisions.list(query.limit ?? 100, query.before)],
  }),
  endpoint({
    name: 'revisions.diff',
    method: 'GET',
    path: '/revisions/{a}/diff/{b}',
    effect: 'read',
    extension: true,
    summary: 'Compare two revisions; 0 is the state before the first apply',
    message: 'From revision {a} to revision {b}',
    data: Type.Array(Difference),
    handle: async (ctx, { params }) => [...(await ctx.revisions.diff(numberOf(params.a), numberOf(params.b)))],
  }),
  endpoint({
    name: 'revisions.restore',
    method: 'PUT',
    path: '/revisions/{n}/restore',
    effect: 'stage',
    extension: true,
    managedOnly: true,
    comparesRevision: false,
    refuses: ['IN_USE', 'NAME_NOT_UNIQUE'],
    summary: 'Stage the state of an earlier revision; review it, then apply',
    message: 'The candidate is as revision {n} was; see GET /services/pending, then apply or discard',
    prepare: async (ctx, { params }) => ctx.revisions.contents(numberOf(params.n)),
    handle: (ctx, _request, contents) => ctx.work.restore(contents),
  }),
  endpoint({
    name: 'revisions.revert',
    method: 'PUT',
    path: '/revisions/{n}/revert',
    effect: 'stage',
    extension: true,
    managedOnly: true,
    comparesRevision: false,
    refuses: ['IN_USE', 'NAME_NOT_UNIQUE'],
    summary: 'Stage the reverse of one revision; review it, then apply',
    message: 'The reverse of revision {n} is staged; see GET /services/pending, then apply or discard',
    prepare: (ctx, { params }) => Promise.resolve(ctx.revisions.changes(numberOf(params.n))),
    handle: async (ctx, _request, made) => {
      const count = await ctx.work.reverse(made)
      if (count > 0) return undefined
      const message = `The changes of revision ${made.revision} are already undone; nothing is staged`
      return Reply.with(undefined as never, { message })
    },
  }),
]

/** Returns NaN, which is no revision, for anything that is not a number. */
const numberOf = (given: string): number => (/^\d{1,9}$/.test(given) ? Number(given) : Number.NaN)
