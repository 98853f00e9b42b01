import { Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import { endpoint } from '../api/endpoint.ts'
import { type FieldProblem, refuseFields } from '../base/errors.ts'
import { secondsOf } from '../base/durations.ts'
import { closed } from '../model/fields.ts'
import { ConntrackSize, SHARED } from '../model/node.ts'

/** nf_conntrack_max of a kernel with 16 GiB and no setting; used while the machine does not track connections. */
const DEFAULT_SIZE = 262_144
const DEFAULTS = { tcpTimeout: '900', tcpFinTimeout: '120', udpTimeout: '300' } as const
const FIELDS = ['tcpTimeout', 'tcpFinTimeout', 'udpTimeout'] as const
const LONGEST_S = 31 * 86_400

const text = (description: string) =>
  Type.String({
    maxLength: 64,
    description: `${description} Whole seconds, or a whole number with one of the units s, m, h, d, w; 1s to 31d. Stored as sent.`,
  })
const timeouts = {
  tcpTimeout: text('Idle time after which an established TCP connection is forgotten; default 900.'),
  tcpFinTimeout: text('Idle time after which a closing TCP connection is forgotten; default 120.'),
  udpTimeout: text('Idle time after which a UDP flow is forgotten; default 300.'),
}

const orSeconds = (schema: (typeof timeouts)['tcpTimeout']) =>
  Type.Optional(
    Type.Union([schema, Type.Integer({ description: 'Seconds, 1 to 2,678,400.' })], {
      description: `${String(Reflect.get(schema, 'description'))} An integer is in seconds, and is returned as text.`,
    }),
  )

const ConntrackData = closed({ size: ConntrackSize, ...timeouts })

type Timeouts = { readonly [F in (typeof FIELDS)[number]]?: string | number }

/** Rules 1, 2 and 4 of the specification. */
function problemsOf(sent: Timeouts): readonly FieldProblem[] {
  return FIELDS.flatMap((field): FieldProblem[] => {
    const value = sent[field]
    if (value === undefined) return []
    const seconds = typeof value === 'number' ? value : secondsOf(value)
    if (seconds === undefined) {
      const message = 'must be whole seconds, or a whole number with exactly one of the units s, m, h, d, w'
      return [{ field, code: 'INVALID_DURATION', message }]
    }
    return seconds < 1 || seconds > LONGEST_S ? [{ field, code: 'OUT_OF_RANGE', message: 'must be 1s to 31d' }] : []
  })
}

async function shown(ctx: ContextOf['read'], nodeId: string) {
  const { tcpTimeout, tcpFinTimeout, udpTimeout } = ctx.section('conntrackTimeouts').find(SHARED) ?? DEFAULTS
  const stored = ctx.section('conntrackLimits').settings(nodeId)?.size
  const size = stored ?? (await ctx.nodeFacts.of(nodeId).conntrackSize()) ?? DEFAULT_SIZE
  return { size, tcpTimeout, tcpFinTimeout, udpTimeout }
}

export const conntrack = [
  endpoint({
    name: 'conntrack.get',
    method: 'GET',
    path: '/{applianceId}/system/conntrack',
    answeredByAny: 'in transactions',
    effect: 'read',
    summary: 'Read the connection tracking settings of this node: table size and timeouts',
    message: 'Connection tracking settings',
    data: ConntrackData,
    handle: (ctx, { params }) => shown(ctx, params.applianceId),
  }),
  endpoint({
    name: 'conntrack.update',
    method: 'PUT',
    path: '/{applianceId}/system/conntrack',
    answeredByAny: 'in transactions',
    effect: 'stage',
    refuses: ['INVALID_DURATION', 'OUT_OF_RANGE'],
    summary: 'Change the table size on this node and the timeouts on every node; omitted timeouts keep their value',
    message: 'Connection tracking settings stored',
    body: closed({
      size: ConntrackSize,
      tcpTimeout: orSeconds(timeouts.tcpTimeout),
      tcpFinTimeout: orSeconds(timeouts.tcpFinTimeout),
      udpTimeout: orSeconds(timeouts.udpTimeout),
    }),
    whenNull: DEFAULTS,
    data: ConntrackData,
    rules: problemsOf,
    handle: (ctx, { params, body }) => {
      const { size, ...sent } = body
      refuseFields(problemsOf(sent))
      ctx.section('conntrackLimits').put({ id: params.applianceId, size })
      const shared = ctx.section('conntrackTimeouts')
      const { tcpTimeout, tcpFinTimeout, udpTimeout } = { ...DEFAULTS, ...shared.find(SHARED), ...sent }
      const wanted = {
        tcpTimeout: String(tcpTimeout),
        tcpFinTimeout: String(tcpFinTimeout),
        udpTimeout: String(udpTimeout),
      }
      shared.put({ id: SHARED, ...wanted })
      return { size, ...wanted }
    },
  }),
]
