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
  description: `${what}, by id or current name; not case-sensitive${or}.`,
})

const filters = {
  frontendId: Type.Optional(nameOrId('Frontend')),
  start: second('Start, inclusive.'),
  end: second('End, exclusive.'),
  status: Type.Optional(
    Type.String({
      pattern: '^([1-5]xx|[0-9]{3}(-[0-9]{3})?)$',
      description: 'Status, class of statuses or range: 404, 5xx, 500-503.',
    }),
  ),
  path: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 400,
      description: 'Text that the path with its query contains, percent-encoded as clients send it.',
    }),
  ),
  source: Type.Optional(Ip),
  server: Type.Optional(nameOrId('Real server', '; or `fallback`')),
  slowerThan: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      description: 'Only requests whose total time is above this many milliseconds.',
    }),
  ),
}

const text = (description: string) => Type.String({ description })
const perhaps = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const time = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description: `${description} Milliseconds; null if not measured.` })
const count = (description: string) => Type.Integer({ description })

const Line = Type.Object({
  id: text('Id of the line, unique on this node.'),
  time: Moment('End of the response, ISO 8601.'),
  frontendId: text('Id of the frontend.'),
  frontendName: perhaps('Current name of the frontend; null if it no longer exists.'),
  backendId: perhaps('Id of the backend; null if none was chosen.'),
  backendName: perhaps('Current name of the backend.'),
  serverId: perhaps('Id of the real server, or `fallback`; null if none was contacted.'),
  serverName: perhaps('Current name of the real server.'),
  source: text('Address of the client.'),
  sourcePort: count('Port of the client.'),
  method: text('Method; empty if no request could be read.'),
  host: text('Header Host, at most 256 bytes.'),
  path: text('Path and query as sent, at most 4,096 bytes; secrets are masked as `**`.'),
  httpVersion: text('HTTP version, such as HTTP/1.1.'),
  status: count('HTTP status; -1 if there was none.'),
  bytesIn: count('Bytes from the client.'),
  bytesOut: count('Bytes to the client.'),
  requestTime: time('Time until the request headers were complete.'),
  queueTime: time('Time in queues.'),
  connectTime: time('Time until the real server accepted the connection.'),
  responseTime: time('Time until the response headers were complete.'),
  totalTime: time('Time from the first byte of the request to the last byte of the response.'),
  state: text('Termination state, as in the logs of HAProxy; `----` means a normal end.'),
  headers: Type.Record(Type.String(), Type.String(), {
    description: 'Headers named in logs.headers of the frontend; secrets are masked as `**`.',
  }),
})

const counts = (what: TProperties, description: string) =>
  Type.Array(Type.Object({ ...what, count: count('Lines.') }), { description })

const Losses = Type.Object(
  {
    lost: count('Lines lost because the ring buffer of HAProxy was full.'),
    unreadable: count('Incomplete lines.'),
    unstored: count('Lines that could not be written to the disk.'),
    unforwarded: count(
      'Lines for the syslog server that were never sent, because the queue was full or the daemon was killed.',
    ),
    uncertain: count('Lines sent to the syslog server right before the connection broke: they may have arrived.'),
  },
  { description: 'Lines that this node did not store or forward, since the start of its log thread.' },
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
      next: Type.Optional(text('Value of `after` for the next, older page; absent on the last page.')),
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
          description: `Maximum length of each list, 1 to ${TOP_MAX}; default ${TOP_DEFAULT}.`,
        }),
      ),
    }),
    data: Type.Object({
      lines: count('Matching lines.'),
      paths: counts({ path: text('Path without the query.') }, 'Paths, most frequent first.'),
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
