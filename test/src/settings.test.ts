import { resolve } from 'node:path'
import t from 'tap'
import { besideText, readSettings, type SettingsError } from '../../src/settings.ts'

function settings(argv: readonly string[] = [], env: Record<string, string> = {}) {
  const read = readSettings(argv, env)
  if (read === 'help' || read.profile === 'witness') throw new Error('help was asked for')
  return read
}

t.test('defaults of the two profiles', async (test) => {
  test.match(settings(), { profile: 'trial', state: resolve('.fulcrum'), listen: { host: '127.0.0.1', port: 9443 } })
  test.match(settings().administrator, { email: 'admin@localhost', password: undefined })
  test.equal(settings().http, undefined)
  test.equal(settings().metrics, undefined)
  test.equal(settings().demo, undefined)
  const appliance = settings(['--profile', 'appliance'])
  test.match(appliance, { state: '/var/lib/fulcrum', listen: { host: '0.0.0.0', port: 9443 } })
})

t.test('metrics without a token are only on a chosen address', async (test) => {
  test.same(settings([], { FULCRUM_METRICS_LISTEN: '192.0.2.1:9405' }).metrics, { host: '192.0.2.1', port: 9405 })
  test.same(settings(['--metrics-listen', '[::1]:9405']).metrics, { host: '::1', port: 9405 })
})

t.test('an option overrides its environment variable', async (test) => {
  const env = { FULCRUM_LISTEN: '127.0.0.1:1', FULCRUM_STATE: '/a', FULCRUM_DEMO: 'true', FULCRUM_HTTP: '[::1]:80' }
  test.match(settings([], env), { listen: { port: 1 }, state: '/a', demo: true, http: { host: '::1', port: 80 } })
  test.match(settings(['--listen', '127.0.0.1:2', '--state', '/b', '--no-demo'], env), {
    listen: { port: 2 },
    state: '/b',
    demo: false,
  })
})

t.test('a HAProxy that continues after a trial', async (test) => {
  test.equal(settings().keep, false)
  test.equal(settings(['--keep']).keep, true)
  test.equal(settings([], { FULCRUM_KEEP: 'true' }).keep, true)
  test.throws(() => settings(['--keep', '--profile', 'appliance']), { message: /--keep is for the trial profile/ })
  test.throws(() => settings(['--keep', '--observe', '/s']), { message: /--keep and --observe exclude each other/ })
})

t.test('a HAProxy to observe, without a demonstration', async (test) => {
  test.equal(settings().observe, undefined)
  test.match(settings(['--observe', '/s']), { observe: { path: '/s' }, demo: false })
  test.match(settings([], { FULCRUM_OBSERVE: '127.0.0.1:9' }), { observe: { host: '127.0.0.1', port: 9 }, demo: false })
  test.match(settings(['--observe', '/s', '--no-demo']), { demo: false })
})

t.test('descriptors from a launcher, where there is one', async (test) => {
  test.equal(settings().genetlink, undefined)
  test.match(settings().localSocket, /\/\.fulcrum\/api\.sock$/)
  const run = { RUNTIME_DIRECTORY: '/run/fulcrum' }
  test.equal(settings(['--state', '/tmp/x'], run).localSocket, '/tmp/x/api.sock')
  test.equal(settings(['--profile', 'appliance'], run).localSocket, '/run/fulcrum/api.sock')
  test.equal(settings([], { FULCRUM_GENETLINK: 'fd:4' }).genetlink, 4)
  test.equal(settings([], { FULCRUM_GENETLINK: '4' }).genetlink, undefined)
  test.match(settings([], { NOTIFY_SOCKET: 'fd:3' }).notify, { NOTIFY_SOCKET: 'fd:3', WATCHDOG_USEC: undefined })
})

t.test('several nodes, and settings that they must not share', async (test) => {
  test.equal(settings().nodes, undefined)
  test.equal(settings(['--nodes', '3']).nodes, 3)
  test.equal(settings([], { FULCRUM_NODES: '5' }).nodes, 5)
  test.equal(settings().beside, undefined)
  for (const beside of [
    { loopback: '127.0.0.2', demo: undefined },
    { loopback: '127.3.2.1', demo: { frontend: 8080, origins: [1, 65_535] as const } },
  ])
    test.same(settings([], { FULCRUM_BESIDE: besideText(beside) }).beside, beside)
})

t.test('settings cannot be changed afterwards', async (test) => {
  test.ok(Object.isFrozen(settings()))
})

t.test('bad settings are refused with one line that names the option', async (test) => {
  const wrong: [readonly string[], Record<string, string>, RegExp][] = [
    [['--nope'], {}, /--nope/],
    [['extra'], {}, /extra/],
    [['--listen', 'localhost:1'], {}, /--listen localhost:1/],
    [['--listen', '127.0.0.1:99999'], {}, /--listen/],
    [['--http', '0.0.0.0:80'], {}, /loopback/],
    [['--metrics-listen', 'nowhere'], {}, /--metrics-listen/],
    [
      ['--listen', '127.0.0.1:9', '--metrics-listen', '127.0.0.1:9'],
      {},
      /must not be the address of --listen or --http/,
    ],
    [['--profile', 'prod'], {}, /--profile prod/],
    [['--profile', 'witness'], {}, /--profile witness needs --peer/],
    [['--profile', 'witness', '--peer', '0.0.0.0:9444'], {}, /--peer 0.0.0.0:9444: must be one address/],
    [['--profile', 'witness', '--peer', '192.0.2.9:65534'], {}, /--peer/],
    [['--profile', 'witness', '--peer', '192.0.2.9:9444', '--demo'], {}, /--demo: is not for a witness/],
    [['--nodes', '1'], {}, /--nodes 1: must be 3, 4 or 5$/],
    [['--nodes', '2'], {}, /--nodes 2: must be 3, 4 or 5; of two/],
    [['--nodes', '6'], {}, /--nodes 6/],
    [[], { FULCRUM_NODES: '03' }, /--nodes 03/],
    [['--demo', '--no-demo'], {}, /exclude/],
    [['--observe', 'abns@x'], {}, /--observe abns@x: .*kind/],
    [['--observe', '/s', '--demo'], {}, /--demo and --observe exclude/],
    [['--observe', '/s'], { FULCRUM_DEMO: 'true' }, /exclude/],
    [[], { FULCRUM_OBSERVE: 'localhost:1' }, /--observe localhost:1: must be/],
    [[], { FULCRUM_DEMO: 'yes' }, /FULCRUM_DEMO/],
    [[], { FULCRUM_ADMIN_EMAIL: 'nobody' }, /FULCRUM_ADMIN_EMAIL/],
    [[], { FULCRUM_ADMIN_PASSWORD: 'short' }, /^FULCRUM_ADMIN_PASSWORD: must have/],
  ]
  for (const [argv, env, message] of wrong) {
    test.throws(() => readSettings(argv, env), { message } satisfies Partial<Record<keyof SettingsError, unknown>>)
  }
})

t.test('a password from the environment is never repeated', async (test) => {
  try {
    settings([], { FULCRUM_ADMIN_PASSWORD: 'pssst' })
    test.fail('it was accepted')
  } catch (error) {
    test.notMatch(String(error), /pssst/)
  }
})

t.test('the retention of the audit log', async (test) => {
  const days = (argv: readonly string[], env = {}) => {
    const read = readSettings(argv, env)
    return read === 'help' || read.profile === 'witness' ? undefined : read.auditDays
  }
  test.equal(days([]), 90)
  test.equal(days(['--audit-days', '365']), 365)
  test.equal(days([], { FULCRUM_AUDIT_DAYS: '7' }), 7)
  for (const wrong of ['0', '-1', '3651', '1.5', 'x', '99999']) {
    test.throws(() => days([`--audit-days=${wrong}`]), /--audit-days .*: must be a whole number from 1 to 3650/)
  }
})

t.test('inward networks that alerts may be sent to', async (test) => {
  const networks = (argv: readonly string[], env = {}) => {
    const read = readSettings(argv, env)
    return read === 'help' || read.profile === 'witness' ? undefined : read.alertsTo
  }
  test.strictSame(networks([]), [])
  test.strictSame(networks([], { FULCRUM_ALERTS_TO: '127.0.0.1, ::1' }), ['127.0.0.1', '::1'])
  test.strictSame(networks(['--alerts-to', '169.254.0.0/16']), ['169.254.0.0/16'])
  test.throws(() => networks(['--alerts-to=localhost']), /--alerts-to localhost: must be an address or a network/)
})

t.test('threads in front', async (test) => {
  const threads = (argv: readonly string[], env = {}) => settings(argv, env).frontThreads
  test.same([threads([]), threads(['--front-threads', '2']), threads([], { FULCRUM_FRONT_THREADS: '16' })], [0, 2, 16])
  for (const wrong of ['-1', '17', 'all'])
    test.throws(() => threads([`--front-threads=${wrong}`]), /--front-threads .*: must be a whole number from 0 to 16/)
})

t.test('the limits of access logs', async (test) => {
  const kept = (argv: readonly string[], env = {}) => {
    const read = readSettings(argv, env)
    return read === 'help' || read.profile === 'witness' ? undefined : [read.logDays, read.logMegabytes]
  }
  test.strictSame(kept([]), [30, 1024])
  test.strictSame(kept(['--log-days', '7'], { FULCRUM_LOG_MIB: '16' }), [7, 16])
  test.throws(() => kept(['--log-mib=15']), /--log-mib 15: must be a whole number from 16 to 1048576/)
  test.throws(() => kept([], { FULCRUM_LOG_DAYS: '0' }), /--log-days 0: must be a whole number from 1 to 3650/)
})

t.test('a witness has its address for the nodes, and no API', async (test) => {
  const env = { FULCRUM_PROFILE: 'witness', FULCRUM_PEER: '192.0.2.9:9444', FULCRUM_LISTEN: '0.0.0.0:9443' }
  test.same(readSettings([], env), {
    profile: 'witness',
    state: '/var/lib/fulcrum',
    peer: { host: '192.0.2.9', port: 9444 },
    etcd: 'etcd',
    check: false,
    notify: { NOTIFY_SOCKET: undefined, WATCHDOG_USEC: undefined },
  })
  const argv = ['--profile', 'witness', '--peer', '[2001:db8::9]:9444', '--state', '/w', '--check']
  test.match(readSettings(argv, {}), { state: '/w', peer: { host: '2001:db8::9' }, check: true })
})
