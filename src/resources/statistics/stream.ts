import { Type } from 'typebox'
import { endpoint } from '../../api/endpoint.ts'
import { Reply } from '../../api/reply.ts'
import type { FieldError } from '../../base/errors.ts'
import { closed } from '../../model/fields.ts'
import { Ids, listedIds, refuseQuery } from './history-query.ts'

export const statsStream = [
  endpoint({
    name: 'stats.stream',
    method: 'GET',
    path: '/{applianceId}/stats/stream',
    effect: 'read',
    extension: true,
    produces: ['text/event-stream'],
    summary:
      'Follow the live figures of a node: the event `figures` contains all of both layers, then `changed` the changed members every second',
    message:
      'Events. `figures`: {layer7, layer4}, each {problem, frontends, backends, reals}, with the same objects as GET …/stats of the layer; empty lists are absent. `changed`: the same structure with changes only, each object with id (and backendId) and its changed members; lastChange only when it starts anew; {} if nothing has changed. After a change of the configuration, `figures` is sent again. With the id of the last event in Last-Event-ID, the stream continues with the changes since then.',
    headers: ['last-event-id'],
    query: closed({ ids: Type.Optional(Ids) }),
    handle(ctx, { query, headers }) {
      const errors: FieldError[] = []
      const unknown = (id: string) => (ctx.figureStreams.has(id) ? undefined : 'which is not a running object')
      const ids = query.ids === undefined ? [] : listedIds(query.ids, unknown, errors)
      refuseQuery(errors)
      const stream = ctx.figureStreams.stream(ids, headers['last-event-id'] ?? '', ctx.actor.userId)
      return Reply.bytes({
        body: '',
        contentType: 'text/event-stream',
        cacheControl: 'no-store',
        stream,
        isShared: true,
      })
    },
  }),
]
