import t from 'tap'
import { nodeArguments, nodeEnvironment, nodePlaces } from '../../../../src/daemon/nodes/places.ts'
import { readSettings, type Settings } from '../../../../src/settings.ts'

function settingsOf(...argv: readonly string[]): Settings {
  const settings = readSettings(argv, {})
  if (settings === 'help' || settings.profile === 'witness') throw new Error('help')
  return settings
}
const places = (...argv: readonly string[]) => nodePlaces(settingsOf('--state', '/s', ...argv), 3)

t.test('addresses count up from that of the first, at the same ports', async (t) => {
  t.same(places()[0], {
    number: 1,
    state: '/s/node-1',
    listen: { host: '127.0.0.1', port: 9443 },
    http: undefined,
    metrics: undefined,
    peer: { host: '127.0.0.1', port: 9444 },
  })
  t.match(places('--listen', '127.4.0.9:1', '--peer', '127.4.0.9:7', '--http', '127.4.0.9:3')[2], {
    listen: { host: '127.4.0.11', port: 1 },
    http: { host: '127.4.0.11', port: 3 },
    peer: { host: '127.4.0.11', port: 7 },
  })
})

t.test('impossible settings are refused with the reason', async (t) => {
  const refused: readonly (readonly [argv: readonly string[], why: RegExp])[] = [
    [['--profile', 'appliance'], /--nodes 3: is for the trial profile/],
    [['--observe', '/x'], /--observe/],
    [['--keep'], /--keep/],
    [['--check'], /--state \/s\/node-1/],
    [['--repair'], /--repair/],
    [['--listen', '0.0.0.0:9443'], /must be a loopback address/],
    [['--listen', '[::1]:9443'], /must be a loopback address/],
    [['--listen', '127.0.0.253:9443'], /up to 127\.x\.x\.252/],
    [['--listen', '127.0.0.1:0'], /ports must be given/],
    [['--listen', '127.0.0.1:65532'], /no room for the next three ports/],
    [['--peer', '127.0.0.2:9444'], /--peer 127\.0\.0\.2 must have the address of --listen/],
    [['--http', '127.0.0.2:80'], /--http 127\.0\.0\.2/],
    [['--peer', '127.0.0.1:9441'], /must all differ/],
  ]
  for (const [argv, why] of refused) t.throws(() => places(...argv), { message: why }, argv.join(' '))
  t.ok(places('--listen', '127.0.0.252:9443'))
})

t.test('only the first has the demonstration; settings for all reach none', async (t) => {
  const settings = settingsOf(
    '--state',
    '/s',
    '--demo',
    '--http',
    '127.0.0.1:80',
    '--audit-days',
    '7',
    '--log-days',
    '7',
    '--log-mib',
    '16',
    '--alerts-to',
    '192.0.2.1',
  )
  const [first, second] = nodePlaces(settings, 3)
  if (first === undefined || second === undefined) return t.fail()
  t.same(nodeArguments(first, settings).at(-1), '--demo')
  t.match(readSettings(nodeArguments(second, settings), {}), {
    ...second,
    number: undefined,
    demo: false,
    auditDays: 7,
    logDays: 7,
    logMegabytes: 16,
    alertsTo: ['192.0.2.1'],
    nodes: undefined,
  })
  t.notOk(
    nodeArguments(first, settingsOf()).some((word) => word.includes('demo')),
    'as a daemon decides',
  )
  const env = {
    PATH: '/bin',
    FULCRUM_NODES: '3',
    FULCRUM_LISTEN: 'x',
    FULCRUM_ADMIN_EMAIL: 'a@b',
    NOTIFY_SOCKET: 'fd:3',
  }
  const demo = { frontend: 1, origins: [2, 3] } as const
  t.same(nodeEnvironment(second, env, '/etcd', demo), {
    PATH: '/bin',
    FULCRUM_ADMIN_EMAIL: 'a@b',
    FULCRUM_ETCD: '/etcd',
    FULCRUM_BESIDE: '127.0.0.2',
    NOTIFY_SOCKET: undefined,
    WATCHDOG_USEC: undefined,
  })
  t.match(nodeEnvironment(first, env, '/etcd', demo), { FULCRUM_BESIDE: '127.0.0.1 1,2,3' })
  return undefined
})
