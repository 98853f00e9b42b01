import { Type } from 'typebox'
import { endpoint, nodeParameter } from '../api/endpoint.ts'
import { ApiError } from '../base/errors.ts'
import { Reply } from '../api/reply.ts'
import { closed } from '../model/fields.ts'
import { EVENT_KINDS } from '../model/job.ts'

const KIND = `(${EVENT_KINDS.join('|')})`

export const events = [
  endpoint({
    name: 'events.stream',
    method: 'GET',
    path: '/events',
    effect: 'read',
    extension: true,
    produces: ['text/event-stream'],
    summary:
      'Follow events: applies, jobs, real servers (up, down, resolved to other addresses), certificates, refused logins, the node, the cluster',
    message: 'Events',
    headers: ['last-event-id'],
    ofNodes: 'stream',
    query: closed({
      node: nodeParameter,
      kinds: Type.Optional(
        Type.String({
          maxLength: 100,
          pattern: `^${KIND}(,${KIND})*$`,
          description: `Only these kinds, separated by commas, of ${EVENT_KINDS.join(', ')}; default all.`,
        }),
      ),
      after: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            'Start after the event with this number, like Last-Event-ID. Without both, and always with node=all, the stream starts with the next event; with node=all, events have no number, but name their node in toldBy.',
        }),
      ),
    }),
    handle(ctx, { query, headers }) {
      const last = headers['last-event-id'] ?? ''
      if (!/^\d{0,15}$/.test(last)) {
        const message = 'must be the number of an event'
        throw new ApiError('INVALID_QUERY', `Last-Event-ID ${message}`, {
          errors: [{ field: 'Last-Event-ID', code: 'FORMAT', message }],
        })
      }
      const after = last === '' ? query.after : Number(last)
      const kinds = EVENT_KINDS.filter((kind) => query.kinds?.split(',').includes(kind))
      const stream = ctx.events.stream(after, kinds)
      return Reply.bytes({ body: '', contentType: 'text/event-stream', cacheControl: 'no-store', stream })
    },
  }),
]
