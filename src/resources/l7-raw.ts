import { endpoint } from '../api/endpoint.ts'
import { refuseFields } from '../base/errors.ts'
import { closed, optional } from '../model/fields.ts'
import { L7Raw, NO_RAW } from '../model/l7-raw.ts'
import { SHARED } from '../model/node.ts'
import { rawProblems } from '../rules/l7-raw.ts'

const { id: _id, ...places } = L7Raw.properties

const shown = ({ global, defaults, frontends, backends }: Omit<L7Raw, 'id'>) =>
  structuredClone({ global, defaults, frontends, backends })

export const l7Raw = [
  endpoint({
    name: 'l7Raw.get',
    method: 'GET',
    path: '/layer7proxy/raw',
    effect: 'read',
    extension: true,
    summary: 'Read the raw lines for haproxy.cfg',
    message: 'Raw lines of HAProxy',
    data: closed(places),
    handle: (ctx) => shown(ctx.section('l7Raw').settings(SHARED) ?? NO_RAW),
  }),
  endpoint({
    name: 'l7Raw.update',
    method: 'PUT',
    path: '/layer7proxy/raw',
    effect: 'stage',
    extension: true,
    summary:
      'Change the raw lines for haproxy.cfg; each field sent is replaced as a whole, omitted fields keep their value',
    message: 'Raw lines of HAProxy stored',
    body: closed(optional(places)),
    whenNull: NO_RAW,
    handle: (ctx, { body }) => {
      const raw = { ...shown(ctx.section('l7Raw').settings(SHARED) ?? NO_RAW), ...body }
      refuseFields(rawProblems(raw))
      ctx.section('l7Raw').put({ id: SHARED, ...raw }, NO_RAW)
    },
  }),
]
