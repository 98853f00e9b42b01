import t from 'tap'
import type { L7Backend, L7Real } from '../../src/model/layer7.ts'
import type { RealServer } from '../../src/model/real-server.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'
import { until } from '../fixtures/until.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { conversation, echoOrigin, get, httpOrigin, strictOrigin } from './haproxy-traffic.ts'

/** Returns `show servers state` by server name: address, port, weight and whether it is in maintenance. */
function states(table: string): Record<string, string> {
  const [header = '', ...rows] = table.split('\n').slice(1)
  const names = header.slice(2).split(' ')
  const cell = (row: string, name: string): string => row.split(' ')[names.indexOf(name)] ?? ''
  return Object.fromEntries(
    rows.map((row) => {
      const maintenance = (Number(cell(row, 'srv_admin_state')) & 1) === 1 ? ' maint' : ''
      return [
        cell(row, 'srv_name'),
        `${cell(row, 'srv_addr')} ${cell(row, 'srv_port')} ${cell(row, 'srv_uweight')}${maintenance}`,
      ]
    }),
  )
}

t.test('changes that a running HAProxy can accept are made without a reload', async (t) => {
  const { apply, ask, host, paths } = haproxyFixture(t)
  const port = await freePort()
  const config = (realServers: readonly RealServer[], more: Partial<L7Backend> = {}) =>
    viewOf({
      realServers,
      l7Frontends: [frontend('f', 'b', { ports: String(port) })],
      l7Backends: [
        backend(
          'b',
          realServers.map(({ id }) => id),
          { healthCheck: { type: 'tcp' }, ...more },
        ),
      ],
    })
  const one = realServer('r1', { port: 19_001 })
  const two = realServer('r2', { port: 19_002, weight: 20 })
  let running = config([one])
  t.match(await apply(undefined, running), { ok: true })
  const table: readonly (readonly [string, readonly RealServer[], Record<string, string>])[] = [
    ['weight', [{ ...one, weight: 7 }], { r1: '127.0.0.1 19001 7' }],
    ['drained', [{ ...one, weight: 7, state: 'drained' }], { r1: '127.0.0.1 19001 0' }],
    ['halted', [{ ...one, weight: 7, state: 'halted' }], { r1: '127.0.0.1 19001 7 maint' }],
    ['drained again', [{ ...one, weight: 7, state: 'drained' }], { r1: '127.0.0.1 19001 0' }],
    ['online', [one], { r1: '127.0.0.1 19001 100' }],
    ['address', [{ ...one, ip: '127.0.0.9' }], { r1: '127.0.0.9 19001 100' }],
    ['address of the other family', [{ ...one, ip: '0:0::1' }], { r1: '::1 19001 100' }],
    ['IPv4 in IPv6', [{ ...one, ip: '::ffff:127.0.0.1' }], { r1: '::ffff:127.0.0.1 19001 100' }],
    ['port', [{ ...one, port: 19_009 }], { r1: '127.0.0.1 19009 100' }],
    ['a server comes', [one, two], { r1: '127.0.0.1 19001 100', r2: '127.0.0.1 19002 20' }],
    [
      'a halted server comes',
      [one, two, { ...two, id: 'r3', state: 'halted' }],
      { r1: '127.0.0.1 19001 100', r2: '127.0.0.1 19002 20', r3: '127.0.0.1 19002 20 maint' },
    ],
    ['servers go', [two], { r2: '127.0.0.1 19002 20' }],
    ['all servers go', [], {}],
    ['a server comes back', [one], { r1: '127.0.0.1 19001 100' }],
  ]
  for (const [name, realServers, expected] of table) {
    const desired = config(realServers)
    t.match(await apply(running, desired), { ok: true }, name)
    t.strictSame(states(await ask('@1 show servers state b')), expected, name)
    running = desired
  }
  t.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'no reload at all')
  const file = await host.readFile(paths.configFile)
  t.match(await apply(undefined, running), { ok: true })
  t.equal(await host.readFile(paths.configFile), file, 'the file was updated')
  t.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'a start has nothing to do')
})

/** Returns how many idle connections HAProxy has to the only server. */
function idleOf(text: string): number {
  const [head = '', row = ''] = text.split('\n')
  return Number(row.split(' ')[head.replace(/^# /, '').split(' ').indexOf('idle_cur')])
}

t.test('connections to a server that was added at runtime are kept, as after a reload', async (t) => {
  const { apply, ask } = haproxyFixture(t)
  const port = await freePort()
  const used = new Set<unknown>()
  const target = await httpServer(t, ({ socket }, answer) => void answer.end(String(used.add(socket).size)))
  const config = (ids: readonly string[]) =>
    viewOf({
      realServers: ids.map((id) => realServer(id, { port: target })),
      l7Frontends: [frontend('f', 'b', { ports: String(port) })],
      l7Backends: [backend('b', ids, { httpReuse: 'always' })],
    })
  t.match(await apply(undefined, config([])), { ok: true })
  t.match(await apply(config([]), config(['r1'])), { ok: true })
  for (let count = 0; count < 5; count++) {
    t.match(await get(port), { status: 200 })
    // Otherwise the next request may come before the connection of this one is idle.
    await until(
      'an idle connection',
      () => ask('@1 show servers conn b'),
      (text) => idleOf(text) === 1,
    )
  }
  t.equal(used.size, 1)
})

t.test('every option of a server is accepted at runtime as in the file', async (t) => {
  const { apply, ask } = haproxyFixture(t)
  const realServers = ['r0', 'r1', 'r2', 'r3'].map((id) => realServer(id, { port: 443 }))
  const first = { ripId: 'r0', backup: true }
  const reals: L7Backend['reals'] = [
    first,
    { ripId: 'r1', sendProxy: true, maxConn: 9, weight: 3 },
    { ripId: 'r2', encrypted: true, sni: 'a.example' },
    { ripId: 'r3', encrypted: true, sni: 'a.example', verify: true, port: 8443 },
  ]
  const checks: readonly L7Backend['healthCheck'][] = [
    { type: 'none' },
    { type: 'http', path: "/it's?a=1", host: 'h.example' },
    { type: 'https', host: 'h.example', interval: 9, rise: 1, fall: 9 },
  ]
  /** State that does not depend on time; in a hash ring the number of a server is its place. */
  const rows = async (isHashed: boolean): Promise<readonly string[]> =>
    (await ask('@1 show servers state b'))
      .split('\n')
      .slice(2)
      .map((row) => row.split(' '))
      .map((cells) => [...(isHashed ? [cells[2]] : []), cells[3], cells[4], cells[7], cells[18], cells[20]].join(' '))
      .toSorted()
  for (const healthCheck of checks) {
    for (const balance of ['roundrobin', 'leastconn', 'random', 'source'] as const) {
      const config = (members: L7Backend['reals']) =>
        viewOf({ realServers, l7Backends: [backend('b', [], { balance, healthCheck, reals: members })] })
      t.match(await apply(undefined, config([first])), { ok: true })
      t.match(await apply(config([first]), config(reals)), { ok: true }, `${healthCheck.type} ${balance}`)
      const added = await rows(balance === 'source')
      t.match(await apply(undefined, config(reals), 'reload'), { ok: true }, 'the file')
      t.strictSame(added, await rows(balance === 'source'))
    }
  }
})

/** Members of a backend, and how their checks end, at origins that understand nothing but what the member speaks. */
const CHECKED: readonly (readonly [Omit<L7Real, 'ripId'>, Record<'tcp' | 'http' | 'https', string>])[] = [
  [{ sendProxy: true }, { tcp: 'L4OK', http: 'L7OK', https: 'L7OK' }],
  [{ encrypted: true }, { tcp: 'L6OK', http: 'L7OK', https: 'L7OK' }],
  [
    { encrypted: true, sni: 'a.test', sendProxy: true },
    { tcp: 'L6OK', http: 'L7OK', https: 'L7OK' },
  ],
  // No authority of the system has signed the certificate.
  [
    { encrypted: true, sni: 'a.test', verify: true },
    { tcp: 'L6RSP', http: 'L6RSP', https: 'L6RSP' },
  ],
]

t.test('a server added at runtime is checked as one in the file, with TLS and with PROXY protocol', async (t) => {
  const { apply, ask } = haproxyFixture(t)
  const tls = certificateMaker(t).pair({ name: 'a.test' })
  const members: L7Real[] = []
  for (const [at, [member]] of CHECKED.entries()) members.push({ ripId: `r${at}`, ...member })
  const realServers = await Promise.all(
    members.map(async ({ ripId, encrypted, sendProxy }) => {
      const port = await strictOrigin(t, { tls, isTls: encrypted === true, hasProxy: sendProxy === true })
      return realServer(ripId, { port })
    }),
  )
  const config = (reals: readonly L7Real[]) =>
    viewOf({
      realServers,
      l7Backends: (['tcp', 'http', 'https'] as const).map((type) =>
        backend(type, [], { reals: [...reals], healthCheck: { type, interval: 1, rise: 1, fall: 1 } }),
      ),
    })
  const checked = () =>
    until(
      'a check of each server',
      async () => {
        const [header = '', ...rows] = (await ask('@1 show stat -1 4 -1')).trim().split('\n')
        const column = header.slice(2).split(',').indexOf('check_status')
        return Object.fromEntries(rows.map((row) => row.split(',')).map((row) => [`${row[0]} ${row[1]}`, row[column]]))
      },
      (found) => Object.values(found).every((status) => status?.startsWith('L') === true),
    )
  const wanted = Object.fromEntries(
    CHECKED.flatMap(([, ends], at) => Object.entries(ends).map(([type, end]) => [`${type} r${at}`, end])),
  )
  t.match(await apply(undefined, config([])), { ok: true })
  t.match(await apply(config([]), config(members)), { ok: true })
  t.strictSame(await checked(), wanted, 'added')
  t.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'without a reload')
  t.match(await apply(undefined, config(members), 'reload'), { ok: true })
  t.strictSame(await checked(), wanted, 'in the file')
})

t.test('a server that is added halted is checked from the moment it is online, as one in the file', async (t) => {
  const { apply, ask } = haproxyFixture(t)
  const checks = { r1: 0, r2: 0 }
  const checkedOrigin = async (id: 'r1' | 'r2') => {
    const port = await httpServer(t, (_request, response) => {
      checks[id] += 1
      response.end()
    })
    return realServer(id, { port })
  }
  const [online, halted] = [await checkedOrigin('r1'), { ...(await checkedOrigin('r2')), state: 'halted' as const }]
  const config = (realServers: readonly RealServer[]) =>
    viewOf({
      realServers,
      l7Backends: [
        backend(
          'b',
          realServers.map(({ id }) => id),
          { healthCheck: { type: 'http', interval: 1 } },
        ),
      ],
    })
  t.match(await apply(undefined, config([online])), { ok: true })
  t.match(await apply(config([online]), config([online, halted])), { ok: true })
  const before = checks.r1
  await until('checks of the other server', () => checks.r1 >= before + 3)
  t.equal(checks.r2, 0, 'halted')
  t.match(await apply(config([online, halted]), config([online, { ...halted, state: 'online' }])), { ok: true })
  await until('checks', () => checks.r2 >= 2)
  t.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'without a reload')
})

t.test('a server with connections cannot be deleted; a reload deletes it and keeps them', async (t) => {
  const { apply, applyLikeTheEngine, ask } = haproxyFixture(t)
  const port = await freePort()
  const realServers = [
    realServer('r1', { port: await echoOrigin(t, 'one') }),
    realServer('r2', { port: await echoOrigin(t, 'two') }),
  ]
  const config = (members: readonly string[]) =>
    viewOf({
      realServers,
      l7Frontends: [frontend('f', 'b', { mode: 'tcp', ports: String(port) })],
      l7Backends: [backend('b', members, { mode: 'tcp' })],
    })
  await apply(undefined, config(['r1']))
  const { say } = await conversation(t, port)
  t.equal(await say('a'), 'one a')
  t.match(await apply(config(['r1']), config(['r2'])), {
    ok: false,
    kind: 'socket',
    output: /show stat b 4 \d+: r1 has scur 1 and not 0/,
    undone: true,
  })
  t.strictSame(Object.keys(states(await ask('@1 show servers state b'))), ['r1'], 'undone')
  t.equal(await (await conversation(t, port)).say('b'), 'one b', 'and serving')
  t.match(await applyLikeTheEngine(config(['r1']), config(['r2'])), { ok: true })
  t.equal(await say('c'), 'one c')
  t.equal(await (await conversation(t, port)).say('d'), 'two d')
})

t.test('a change made by another program is noticed and corrected by a reload', async (t) => {
  const { apply, applyLikeTheEngine, ask } = haproxyFixture(t)
  const config = (weight: number) =>
    viewOf({ realServers: [realServer('r1', { weight })], l7Backends: [backend('b', ['r1'])] })
  await apply(undefined, config(1))
  await ask('@1 set server b/r1 addr 127.0.0.77')
  t.match(await apply(config(1), config(2)), {
    ok: false,
    kind: 'socket',
    output: /r1 has addr 127\.0\.0\.77:8000 and not 127\.0\.0\.1:8000/,
  })
  t.match(await applyLikeTheEngine(config(1), config(2)), { ok: true })
  t.match(states(await ask('@1 show servers state b')), { r1: '127.0.0.1 8000 2' })
  for (const [state, told] of [
    ['drain', /r1 has status DRAIN and not UP/],
    ['maint', /r1 has status MAINT and not UP/],
  ] as const) {
    await ask(`@1 set server b/r1 state ${state}`)
    t.match(await apply(config(2), config(3)), { ok: false, kind: 'socket', output: told })
    t.match(await applyLikeTheEngine(config(2), config(3)), { ok: true })
    t.match(await applyLikeTheEngine(config(3), config(2)), { ok: true })
  }
})

t.test('a dead HAProxy is started by the reload that follows the refused command', async (t) => {
  const { apply, applyLikeTheEngine, host } = haproxyFixture(t)
  const port = await freePort()
  const origin = await httpOrigin(t, 'one')
  const config = (weight: number) =>
    viewOf({
      realServers: [realServer('r1', { port: origin, weight })],
      l7Frontends: [frontend('f', 'b', { ports: String(port) })],
      l7Backends: [backend('b', ['r1'])],
    })
  await apply(undefined, config(1))
  await host.unit('layer7proxy', 'stop', 5000)
  t.match(await apply(config(1), config(2)), { ok: false, kind: 'socket' })
  t.match(await applyLikeTheEngine(config(1), config(2)), { ok: true })
  t.match(await get(port), { status: 200, body: 'one' })
})

t.test('a backup server that is added later serves before the fallback, as after a reload', async (t) => {
  const { apply, applyLikeTheEngine } = haproxyFixture(t)
  const port = await freePort()
  const fallback = { ip: '127.0.0.1', port: await httpOrigin(t, 'fallback') }
  const realServers = [
    realServer('r1', { port: await httpOrigin(t, 'one'), state: 'halted' }),
    realServer('r2', { port: await httpOrigin(t, 'backup') }),
  ]
  const config = (reals: L7Backend['reals']) =>
    viewOf({
      realServers,
      l7Frontends: [frontend('f', 'b', { ports: String(port) })],
      l7Backends: [backend('b', [], { fallback, reals })],
    })
  const without = config([{ ripId: 'r1' }])
  const complete = config([{ ripId: 'r1' }, { ripId: 'r2', backup: true }])
  await apply(undefined, without)
  t.match(await get(port), { body: 'fallback' })
  t.match(await applyLikeTheEngine(without, complete), { ok: true })
  t.match(await get(port), { body: 'backup' })
  t.match(await apply(undefined, complete, 'reload'), { ok: true })
  t.match(await get(port), { body: 'backup' }, 'the file agrees')
  t.match(await applyLikeTheEngine(complete, without), { ok: true })
  t.match(await get(port), { body: 'fallback' })
})
