import t from 'tap'
import { differenceOf } from '../../../../src/drivers/haproxy/changes.ts'
import { RUNTIME_COMMANDS_MAX, runtimeStep, stateColumns } from '../../../../src/drivers/haproxy/runtime.ts'
import { serversOf } from '../../../../src/drivers/haproxy/server.ts'
import type { SocketStep } from '../../../../src/drivers/driver.ts'
import type { RealServer } from '../../../../src/model/real-server.ts'
import type { L7Backend } from '../../../../src/model/layer7.ts'
import { backend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from './records.ts'

function stepFor(
  before: readonly RealServer[],
  after: readonly RealServer[],
  more: Partial<L7Backend> = {},
): SocketStep {
  const view = (realServers: readonly RealServer[]) =>
    viewOf({
      realServers,
      l7Backends: [
        backend(
          'b',
          realServers.map(({ id }) => id),
          more,
        ),
      ],
    })
  const difference = differenceOf(view(before), view(after))
  if (difference === 'reload') throw new Error('a reload would be needed')
  return runtimeStep(difference, '/run/master.sock')
}
const withoutId = (request: string) => request.replace(/ id \d+/, '')
const requests = (step: SocketStep) => step.commands.map(({ request }) => withoutId(request))
const server = realServer('r1')

t.test('weight, address and state', (t) => {
  t.strictSame(requests(stepFor([server], [{ ...server, weight: 7 }])), ['@1 set server b/r1 weight 7'])
  t.strictSame(requests(stepFor([server], [{ ...server, ip: '::1', port: 81 }])), [
    '@1 set server b/r1 addr ::1 port 81',
  ])
  const anyPort = realServer('r1', { port: null })
  t.strictSame(requests(stepFor([anyPort], [{ ...anyPort, ip: '::1' }])), ['@1 set server b/r1 addr ::1'])
  t.strictSame(requests(stepFor([server], [{ ...server, state: 'drained' }])), ['@1 set server b/r1 weight 0'])
  t.strictSame(requests(stepFor([server], [{ ...server, state: 'halted' }])), ['@1 set server b/r1 state maint'])
  t.end()
})

t.test('online restores state and weight, the state last', (t) => {
  const drained = realServer('r1', { state: 'drained' })
  const halted = realServer('r1', { state: 'halted' })
  t.strictSame(requests(stepFor([drained], [server])), ['@1 set server b/r1 weight 100'])
  t.strictSame(requests(stepFor([halted], [server])), ['@1 set server b/r1 state ready'])
  t.strictSame(requests(stepFor([halted], [drained])), [
    '@1 set server b/r1 weight 0',
    '@1 set server b/r1 state ready',
  ])
  t.strictSame(requests(stepFor([drained], [halted])), [
    '@1 set server b/r1 state maint',
    '@1 set server b/r1 weight 100',
  ])
  t.end()
})

/** Defaults of a server in the file. */
const KEPT = 'pool-max-conn -1 pool-purge-delay 5s'

t.test('an added server gets everything that the file would say', (t) => {
  const other = realServer('r2', { ip: '::1', weight: 3 })
  const check = { healthCheck: { type: 'tcp' } } as const
  t.strictSame(requests(stepFor([server], [server, other], check)), [
    `@1 add server b/r2 [::1]:8000 check inter 2s rise 2 fall 3 weight 3 ${KEPT}`,
    '@1 enable health b/r2',
    '@1 enable server b/r2',
  ])
  t.strictSame(requests(stepFor([server], [server, { ...other, state: 'halted' }])), [
    `@1 add server b/r2 [::1]:8000 weight 3 ${KEPT}`,
  ])
  t.end()
})

t.test('the check of a server begins when it is online', (t) => {
  const halted = realServer('r2', { state: 'halted' })
  const check = { healthCheck: { type: 'tcp' } } as const
  t.strictSame(requests(stepFor([server], [server, halted], check)), [
    `@1 add server b/r2 127.0.0.1:8000 check inter 2s rise 2 fall 3 weight 100 ${KEPT}`,
  ])
  t.strictSame(requests(stepFor([halted], [realServer('r2')], check)), [
    '@1 enable health b/r2',
    '@1 set server b/r2 state ready',
  ])
  t.end()
})

t.test('the check of an added server does what that of one in the file does without being told', (t) => {
  const added = (more: object, type: 'tcp' | 'none') => {
    const reals = [{ ripId: 'r1' }, { ripId: 'r2', ...more }]
    return requests(stepFor([server], [server, realServer('r2')], { reals, healthCheck: { type } }))[0]
  }
  const check = ' check inter 2s rise 2 fall 3 weight 100'
  const head = '@1 add server b/r2 127.0.0.1:8000'
  t.equal(added({ encrypted: true }, 'tcp'), `${head} ssl verify none${check} check-ssl ${KEPT}`)
  t.equal(added({ sendProxy: true }, 'tcp'), `${head} send-proxy-v2${check} check-send-proxy ${KEPT}`)
  t.equal(
    added({ encrypted: true, sendProxy: true }, 'none'),
    `${head} ssl verify none send-proxy-v2 weight 100 ${KEPT}`,
  )
  t.end()
})

t.test('a removed server', (t) => {
  const step = stepFor([server, realServer('r2')], [server])
  t.strictSame(step.commands, [
    { request: '@1 set server b/r2 state maint', expect: [''] },
    { request: '@1 del server b/r2', expect: ['Server deleted.'], endsCounting: true },
  ])
  const request = step.quiet?.[0]?.request ?? ''
  t.match(request, /^@1 show stat b 4 \d{6,}$/)
  t.strictSame(step.quiet, [{ request, rows: [{ where: { svname: 'r2' }, columns: { scur: ['0'] } }] }])
  t.strictSame(step.readBack, [{ request, rows: [{ where: { svname: 'r2' }, columns: undefined }] }])
  t.end()
})

t.test('all removed servers are in maintenance before the first is deleted: their figures are read in between', (t) => {
  const step = stepFor([server, realServer('r2'), realServer('r3')], [{ ...server, weight: 7 }])
  t.strictSame(
    requests(step).map((request) => request.replace(/^@1 (\w+ server \S+ \w+).*/, '$1')),
    [
      'set server b/r1 weight',
      'set server b/r2 state',
      'set server b/r3 state',
      '@1 del server b/r2',
      '@1 del server b/r3',
    ],
  )
  t.end()
})

t.test('undo reverses the commands, newest first', (t) => {
  const step = stepFor([server, realServer('r2')], [{ ...server, weight: 1 }])
  t.strictSame(
    step.undo.map(({ request }) => withoutId(request)),
    [`@1 add server b/r2 127.0.0.1:8000 weight 100 ${KEPT}`, '@1 enable server b/r2', '@1 set server b/r1 weight 100'],
  )
  t.end()
})

t.test('an undo accepts commands that were never executed', (t) => {
  const { undo } = stepFor([server, realServer('r2')], [server])
  t.match(undo[0]?.expect, ['New server registered.', 'No such server.', "'id' : custom id *", /^Already exists/])
  t.end()
})

t.test('the time for commands is seconds, and more for many', (t) => {
  t.equal(stepFor([server], [{ ...server, weight: 7 }]).timeout_ms, 3005)
  const many = Array.from({ length: 900 }, (_, index) => realServer(`m${index}`))
  const halved = many.map((real) => ({ ...real, weight: 50 }))
  t.equal(stepFor(many, halved).timeout_ms, 7500)
  t.end()
})

t.test('few servers of a backend are read back one by one, and many together', (t) => {
  const reals = Array.from({ length: 5 }, (_, index) => realServer(`m${index}`, { ip: '::ffff:1.2.3.4' }))
  const halved = (count: number) => reals.map((real, index) => (index < count ? { ...real, weight: 50 } : real))
  const four = stepFor(reals, halved(4))
  t.strictSame(new Set(four.readBack.map(({ request }) => request)).size, 4)
  t.strictSame(four.readBack[0]?.rows, [
    {
      where: { svname: 'm0' },
      columns: {
        addr: ['[::ffff:102:304]:8000', '[::ffff:1.2.3.4]:8000'],
        uweight: ['50'],
        status: ['UP*', 'DOWN*', 'NOLB*', 'no check'],
      },
    },
  ])
  t.match(stepFor(reals, halved(5)).readBack, [{ request: '@1 show servers state b', rows: { length: 5 } }])
  const named = realServer('n', { ip: 'web.example', resolve: 'live' })
  t.match(stepFor([named], [{ ...named, weight: 3 }]).readBack, [{ request: '@1 show servers state b' }])
  const gone = stepFor(reals, [])
  t.match(gone.quiet, [{ request: '@1 show stat b 4 -1', rows: { length: 5 } }])
  t.match(gone.readBack, [{ request: '@1 show servers state b', rows: { length: 5 } }])
  t.end()
})

t.test('values that are read back', (t) => {
  const view = viewOf({ realServers: [{ ...server, state: 'halted' }] })
  const [halted] = serversOf(backend('b', ['r1']), view)
  if (halted === undefined) throw new Error('the backend has a server')
  t.strictSame(stateColumns(halted), {
    srv_addr: ['127.0.0.1'],
    srv_port: ['8000'],
    srv_uweight: ['100'],
    srv_admin_state: ['1', '5'],
  })
  t.strictSame(stateColumns({ ...halted, halted: false, port: null })['srv_port'], ['0'])
  t.ok(RUNTIME_COMMANDS_MAX > 0)
  t.end()
})
