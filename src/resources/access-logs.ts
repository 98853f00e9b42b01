import { type TProperties, Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { PAGE_DEFAULT, pageParameters } from '../api/lists.ts'
import { Reply } from '../api/reply.ts'
import { closed, Ip, Moment, Name } from '../model/fields.ts'

const TOP_MAX = 100
const TOP_DEFAULT = 10
const LAST_SECOND = 4_294_967_295
const AT_ONCE = { what: 'searches of access logs', all_max: 8, each_max: 2 }

const second = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: LAST_SECOND, description: `${description} Unix seconds.` }))

const nameOrId = (what: string, or = '') => ({
  ...Name,
  description: `${what} by its id, or by the name that it has now, whatever its case${or}.`,
})

const filters = {
  frontendId: Type.Optional(nameOrId('Frontend')),
  start: second('Not before.'),
  end: second('Before.'),
  status: Type.Optional(
    Type.String({
      pattern: '^([1-5]xx|[0-9]{3}(-[0-9]{3})?)$',
      description: 'A status, all of one kind or a range: 404, 5xx, 500-503.',
    }),
  ),
  path: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 400,
      description: 'Text that the path with its query holds, written as clients send it, percent-encoded.',
    }),
  ),
  source: Type.Optional(Ip),
  server: Type.Optional(nameOrId('Real server', '; or `fallback`')),
  slowerThan: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'Total time above so many milliseconds.' }),
  ),
}

const text = (description: string) => Type.String({ description })
const perhaps = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const time = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description: `${description} Milliseconds; null when not measured.` })
const count = (description: string) => Type.Integer({ description })

const Line = Type.Object({
  id: text('Of the line, on this node.'),
  time: Moment('When the answer had ended, ISO 8601.'),
  frontendId: text('Frontend.'),
  frontendName: perhaps('Its name now; null when it is gone.'),
  backendId: perhaps('Backend; null when none was chosen.'),
  backendName: perhaps('Its name now.'),
  serverId: perhaps('Real server, or `fallback`; null when none was asked.'),
  serverName: perhaps('Its name now.'),
  source: text('Address of the client.'),
  sourcePort: count('Its port.'),
  method: text('Method; empty when no request could be read.'),
  host: text('Header Host, 256 bytes at the most.'),
  path: text('Path with its query as sent, 4,096 bytes at the most; secrets in it read `**`.'),
  httpVersion: text('Such as HTTP/1.1.'),
  status: count('HTTP status; -1 when there was none.'),
  bytesIn: count('From the client.'),
  bytesOut: count('To the client.'),
  requestTime: time('Until the headers of the request were there.'),
  queueTime: time('In queues.'),
  connectTime: time('Until the real server took the connection.'),
  responseTime: time('Until the headers of the answer were there.'),
  totalTime: time('From the first byte of the request to the last of the answer.'),
  state: text('How it ended, in the four letters of HAProxy’s logs; `----` is as it should be.'),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'Headers that the frontend names in logs.headers; those that are secrets read `**`.',
  }),
})

const counts = (what: TProperties, description: string) =>
  Type.Array(Type.Object({ ...what, count: count('Lines.') }), { description })

const Losses = Type.Object(
  {
    lost: count('HAProxy had no room for them in its ring while nobody read it.'),
    unreadable: count('They were not whole.'),
    unstored: count('The disk did not take them.'),
    unforwarded: count(
      'Meant for the syslog server, and never sent: more waited than there is room for, or the daemon was killed.',
    ),
    uncertain: count('Sent to the syslog server right before the connection broke: they may have arrived.'),
  },
  { description: 'Lines that this node did not keep or forward, since its log thread began.' },
)

export const accessLogs = [
  endpoint({
    name: 'accessLogs.search',
    method: 'GET',
    path: '/{applianceId}/layer7proxy/logs',
    effect: 'read',
    extension: true,
    summary: 'Search the access logs of a node; newest first',
    message: 'Access log',
    atOnce: AT_ONCE,
    query: closed({ ...filters, ...pageParameters(PAGE_DEFAULT) }),
    data: Type.Array(Line),
    beside: Type.Object({
      next: Type.Optional(text('Ask with it as `after` for what is older; absent on the last page.')),
      losses: Losses,
    }),
    handle: async (ctx, { query: { limit = PAGE_DEFAULT, ...query } }) => {
      const { lines, next, losses } = await ctx.accessLogs.search({ ...query, limit })
      // Sound: a line has the fields of its schema.
      return Reply.with([...lines] as never, { beside: { ...(next === undefined ? {} : { next }), losses } })
    },
  }),
  endpoint({
    name: 'accessLogs.top',
    method: 'GET',
    path: '/{applianceId}/layer7proxy/logs/top',
    effect: 'read',
    extension: true,
    summary:
      'List the most frequent paths, sources and statuses in the access logs of a node, and the slowest requests',
    message: 'Most frequent',
    atOnce: AT_ONCE,
    query: closed({
      ...filters,
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: TOP_MAX,
          description: `Of each at most so many, 1 to ${TOP_MAX}; ${TOP_DEFAULT}.`,
        }),
      ),
    }),
    data: Type.Object({
      lines: count('Lines that fit.'),
      paths: counts({ path: text('Without its query.') }, 'Paths, most frequent first.'),
      sources: counts({ source: text('Address of a client.') }, 'Clients, most frequent first.'),
      status: counts({ status: count('HTTP status.') }, 'Statuses, most frequent first.'),
      slowest: Type.Array(Line, { description: 'Slowest first, by totalTime.' }),
    }),
    handle: async (ctx, { query: { limit = TOP_DEFAULT, ...query } }) =>
      // Sound: a line has the fields of its schema.
      (await ctx.accessLogs.top({ ...query, limit })) as never,
  }),
  endpoint({
    name: 'accessLogs.stream',
    method: 'GET',
    path: '/{applianceId}/layer7proxy/logs/stream',
    effect: 'read',
    extension: true,
    produces: ['text/event-stream'],
    summary: 'Follow the access log of a node: an event `line` for each line, `skipped` when there are too many',
    message: 'Access log',
    query: closed(filters),
    handle: (ctx, { query }) =>
      Reply.bytes({
        body: '',
        contentType: 'text/event-stream',
        cacheControl: 'no-store',
        stream: ctx.accessLogs.stream(query),
      }),
  }),
]
