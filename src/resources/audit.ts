import { Type } from 'typebox'
import { endpoint, nodeParameter } from '../api/endpoint.ts'
import { closed, Moment } from '../model/fields.ts'
import { OfNodes } from '../model/of-nodes.ts'

const text = (description: string) => Type.String({ description })
const filter = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 320, description }))
const moment = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 40,
      pattern: '^\\d{4}-\\d{2}-\\d{2}(T[0-9:.]{5,15}Z)?$',
      description: `${description} YYYY-MM-DD, or ISO 8601 in UTC.`,
    }),
  )

const AuditEntry = Type.Object({
  nodeId: Type.Optional(Type.String({ description: 'Node that it is of; with node=all.' })),
  seq: Type.Integer({ description: 'Number; rises by one.' }),
  at: Moment('ISO 8601.'),
  requestId: text('As in X-Request-Id; empty where the daemon acted by itself.'),
  by: text('E-mail of the user who asked, or the one that a login tried; `fulcrum` if the daemon acted by itself.'),
  token: Type.Optional(text('Id of the API token that a program asked with.')),
  address: text('Where from.'),
  endpoint: text('Name of the endpoint, see GET /rbac/endpoints.'),
  method: text('Method.'),
  path: text('Path as sent, 320 characters at the most.'),
  query: Type.Optional(text('Query as sent, 320 characters at the most.')),
  via: Type.Optional(
    Type.Enum(['password', 'radius', 'saml', 'oidc'], { description: 'Of a login: by what somebody came in.' }),
  ),
  forwardedBy: Type.Optional(text('Id of the node that was asked, when it has forwarded the request to this one.')),
  forwardedTo: Type.Optional(
    text(
      'Id of the node that was to answer the request. Its own entry, with the same request id, says what was done; this one what came back.',
    ),
  ),
  outcome: Type.Enum(['begun', 'done', 'refused'], {
    description: 'What acts at once has two entries: one before it begins, one with what came of it.',
  }),
  status: Type.Optional(Type.Integer({ description: 'HTTP status; absent when begun.' })),
  code: Type.Optional(text('Code of a refusal.')),
  body: Type.Optional(Type.Unknown({ description: 'Of what acts at once; secrets and files read `**`.' })),
  changes: Type.Optional(
    Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Of the candidate, as GET /services/pending shows them, 100 at the most; secrets read `**`.',
    }),
  ),
  moreChanges: Type.Optional(Type.Integer({ description: 'Changes that are not listed.' })),
  revision: Type.Optional(Type.Integer({ description: 'Of an apply: revision that runs since.' })),
  live: Type.Optional(
    Type.Array(
      Type.Object({
        op: Type.Enum(['create', 'update', 'delete'], { description: 'What became of the record.' }),
        resource: text('Section of the configuration.'),
        resourceId: text('Id of the record.'),
        name: text('Its name, 120 characters at the most.'),
        by: text('E-mails of the users who changed it, the last one first, 120 characters at most.'),
      }),
      { description: 'What an apply made live, 20 records at the most; the revision has all of them.' },
    ),
  ),
  moreLive: Type.Optional(Type.Integer({ description: 'Records that went live and are not listed.' })),
  endedSessions: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Sessions of the user that ended with this login, because there may be 50 at the most.',
    }),
  ),
  count: Type.Optional(
    Type.Integer({
      description:
        'The entry stands for so many refusals of one caller, or of logins, and shows the last; absent for one.',
    }),
  ),
  since: Type.Optional(Moment('With count: when the first of them came, ISO 8601.')),
  endpoints: Type.Optional(
    Type.Record(Type.String(), Type.Integer(), { description: 'With count: how many of each endpoint.' }),
  ),
  coversSeconds: Type.Optional(
    Type.Integer({
      description:
        'For a request by a caller that is refused often: it stands for everything that this caller begins in this many seconds.',
    }),
  ),
  hash: text('SHA-256 over the entry and the hash of the one before it, in hexadecimal.'),
})

export const audit = [
  endpoint({
    name: 'audit.list',
    method: 'GET',
    path: '/audit',
    effect: 'read',
    extension: true,
    summary: 'Search the audit log: who did what, from where, and with what result; newest first',
    message: 'Audit entries',
    atOnce: { what: 'searches of the audit log', all_max: 16, each_max: 2 },
    ofNodes: { time: 'at', limit: { parameter: 'limit', usual: 100 }, ofOne: ['before'] },
    beside: OfNodes,
    query: closed({
      node: nodeParameter,
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'At most so many, 1 to 1000; 100. Fewer when they are long: ask again with `before`.',
        }),
      ),
      before: Type.Optional(
        Type.Integer({ minimum: 1, description: 'Only those with a smaller number; with node=all, say `to` instead.' }),
      ),
      from: moment('Not before.'),
      to: moment('Not after.'),
      by: filter('E-mail.'),
      endpoint: filter('Name of the endpoint.'),
      address: filter('Where from.'),
      outcome: Type.Optional(Type.Enum(['begun', 'done', 'refused'], { description: 'What came of it.' })),
      text: filter('Text that the entry holds, such as an id; whatever its case.'),
    }),
    data: Type.Array(AuditEntry),
    // Sound: only this daemon writes entries, and a line that was tampered with is left out.
    handle: async (ctx, { query }) => {
      const { node: _, limit = 100, ...wanted } = query
      return [...(await ctx.audit.search({ ...wanted, limit }))] as never
    },
  }),
]
