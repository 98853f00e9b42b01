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
  nodeId: Type.Optional(Type.String({ description: 'Node of the entry; with node=all.' })),
  seq: Type.Integer({ description: 'Number of the entry; rises by one.' }),
  at: Moment('ISO 8601.'),
  requestId: text('Id in X-Request-Id; empty if the daemon acted on its own.'),
  by: text('E-mail of the user, or the one used in a login attempt; `fulcrum` if the daemon acted on its own.'),
  token: Type.Optional(text('Id of the API token of the request.')),
  address: text('Address of the client.'),
  endpoint: text('Name of the endpoint, see GET /rbac/endpoints.'),
  method: text('HTTP method.'),
  path: text('Path as sent, at most 320 characters.'),
  query: Type.Optional(text('Query as sent, at most 320 characters.')),
  via: Type.Optional(
    Type.Enum(['password', 'radius', 'saml', 'oidc'], { description: 'For a login: method of the login.' }),
  ),
  forwardedBy: Type.Optional(text('Id of the node that received the request and forwarded it to this one.')),
  forwardedTo: Type.Optional(
    text(
      'Id of the node that the request was forwarded to. The entry of that node, with the same request id, shows what was done; this one shows the answer.',
    ),
  ),
  outcome: Type.Enum(['begun', 'done', 'refused'], {
    description: 'Operations that act immediately have two entries: one before they begin, one with the result.',
  }),
  status: Type.Optional(Type.Integer({ description: 'HTTP status; absent when begun.' })),
  code: Type.Optional(text('Code of a refusal.')),
  body: Type.Optional(
    Type.Unknown({ description: 'Body of an operation that acts immediately; secrets and files read `**`.' }),
  ),
  changes: Type.Optional(
    Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Changes of the candidate, as GET /services/pending shows them, at most 100; secrets read `**`.',
    }),
  ),
  moreChanges: Type.Optional(Type.Integer({ description: 'Number of changes that are not listed.' })),
  revision: Type.Optional(Type.Integer({ description: 'For an apply: the new running revision.' })),
  live: Type.Optional(
    Type.Array(
      Type.Object({
        op: Type.Enum(['create', 'update', 'delete'], { description: 'What happened to the record.' }),
        resource: text('Section of the configuration.'),
        resourceId: text('Id of the record.'),
        name: text('Name of the record, at most 120 characters.'),
        by: text('E-mails of the users who changed the record, latest first, at most 120 characters.'),
      }),
      { description: 'Records that an apply made live, at most 20; the revision has all of them.' },
    ),
  ),
  moreLive: Type.Optional(Type.Integer({ description: 'Number of records that went live but are not listed.' })),
  endedSessions: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Sessions of the user that ended with this login, because at most 50 are allowed.',
    }),
  ),
  count: Type.Optional(
    Type.Integer({
      description:
        'Number of refusals of one caller, or of logins, that the entry stands for; it shows the last one. Absent if it is only one.',
    }),
  ),
  since: Type.Optional(Moment('With count: time of the first refusal, ISO 8601.')),
  endpoints: Type.Optional(
    Type.Record(Type.String(), Type.Integer(), { description: 'With count: number of refusals by endpoint.' }),
  ),
  coversSeconds: Type.Optional(
    Type.Integer({
      description:
        'For a caller that is often refused: the entry stands for all requests of this caller in this many seconds.',
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
          description:
            'Maximum number of entries, 1 to 1000; default 100. Fewer if entries are long: ask again with `before`.',
        }),
      ),
      before: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'Only entries with a smaller number; with node=all, use `to` instead.',
        }),
      ),
      from: moment('Start.'),
      to: moment('End.'),
      by: filter('E-mail.'),
      endpoint: filter('Name of the endpoint.'),
      address: filter('Address of the client.'),
      outcome: Type.Optional(Type.Enum(['begun', 'done', 'refused'], { description: 'Outcome of the request.' })),
      text: filter('Text that the entry contains, such as an id; not case-sensitive.'),
    }),
    data: Type.Array(AuditEntry),
    // Sound: only this daemon writes entries, and a line that was tampered with is left out.
    handle: async (ctx, { query }) => {
      const { node: _, limit = 100, ...wanted } = query
      return [...(await ctx.audit.search({ ...wanted, limit }))] as never
    },
  }),
]
