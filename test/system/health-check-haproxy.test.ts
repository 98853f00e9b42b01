import { once } from 'node:events'
import { statSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { HealthCheckSetting } from '../../src/model/health-check.ts'
import type { ConfigView } from '../../src/model/sections.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { until } from '../fixtures/until.ts'
import { ownCheck } from '../fixtures/health-check.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { freePort } from '../fixtures/traffic.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'

const skip = sandboxProblem()

/** Reports its requests, and answers `answer`. */
async function origin(test: Test, port = 0) {
  const told: string[] = []
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    // A script may write its lines one by one.
    let at: number | undefined
    socket.on('data', (chunk) => {
      at ??= told.push('') - 1
      told[at] += chunk.toString()
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    for (const socket of open) socket.destroy()
    server.close()
  }
  test.teardown(stop)
  return { told, stop, port: (server.address() as AddressInfo).port }
}

const TELLS = '#!/bin/bash\n(exec 3<>"/dev/tcp/$3/$4" && printf "%s\\n" "$@" >&3) 2>/dev/null || exit 7\n'
const parameters = [{ name: 'word', type: 'string' as const, default: 'a default' }]

function configuration(port: number, healthCheck: HealthCheckSetting, script = TELLS): ConfigView {
  return viewOf({
    healthChecks: [ownCheck('own', { script, parameters })],
    realServers: [realServer('r1', { port })],
    l7Backends: [backend('b', ['r1'], { mode: 'tcp', healthCheck })],
    l7Frontends: [frontend('f', 'b', { mode: 'tcp', ports: '8443', enabled: false })],
  })
}

/** Status, check_status, check_code and last_chk of the server. */
async function row(ask: (command: string) => Promise<string>) {
  const [header = '', ...lines] = (await ask('@1 show stat')).split('\n')
  const names = header.replace('# ', '').split(',')
  const cells = lines.find((line) => line.startsWith('b,r1,'))?.split(',') ?? []
  const cell = (name: string) => cells[names.indexOf(name)] ?? ''
  return { status: cell('status'), check: `${cell('check_status')} ${cell('check_code')} ${cell('last_chk')}`.trim() }
}
const isUp = ({ status }: { status: string }) => status === 'UP'
/** Whether the server is down for this reason. */
const isDownFor = (reason: RegExp) => (server: { status: string; check: string }) =>
  server.status === 'DOWN' && reason.test(server.check)

const own = (more: Partial<HealthCheckSetting> = {}): HealthCheckSetting => ({
  type: 'script',
  id: 'own',
  interval: 1,
  rise: 1,
  fall: 2,
  ...more,
})
/** On a very busy machine a script may take longer than a second, and would fail for that reason. */
const unhurried = (more: Partial<HealthCheckSetting> = {}) => own({ interval: 4, fall: 1, ...more })

t.test(
  'a server whose script fails goes down with the exit status as the reason, and recovers automatically',
  { skip },
  async (test) => {
    const { apply, ask } = haproxyFixture(test)
    const { told, stop, port } = await origin(test)
    const word = "it's; $(id)"
    test.match(await apply(undefined, configuration(port, unhurried({ parameters: { word } }))), { ok: true })
    test.match(
      await until(
        'the result',
        () => row(ask),
        ({ check }) => check.includes('PROCOK'),
      ),
      { status: 'UP' },
    )
    const words = ['0.0.0.0', '0', '127.0.0.1', String(port), `--word=${word}`]
    const whole = `${words.join('\n')}\n`
    test.equal(
      await until(
        'the words',
        () => told.find((text) => text.length === whole.length),
        (text) => text !== undefined,
      ),
      whole,
    )
    stop()
    const down = await until('the result', () => row(ask), isDownFor(/PROCERR 7/))
    test.match(down, { status: 'DOWN', check: /PROCERR 7/ })
    await origin(test, port)
    test.match(await until('the result', () => row(ask), isUp), { status: 'UP' })
  },
)

t.test('another text and other values are used without a reload', { skip }, async (test) => {
  const { apply, ask, paths } = haproxyFixture(test)
  const { told, port } = await origin(test)
  const first = configuration(port, unhurried())
  test.match(await apply(undefined, first), { ok: true })
  await until(
    'the words',
    () => told,
    (all) => all.join('').includes('--word=a default'),
  )
  const folder = paths.configFile.replace('haproxy.cfg', 'fulcrum-checks')
  test.equal(statSync(folder).mode & 0o777, 0o755, 'the account of the checks can read it')
  const second = configuration(port, unhurried({ parameters: { word: 'other' } }))
  test.match(await apply(first, second), { ok: true })
  await until(
    'the words',
    () => told,
    (all) => all.join('').includes('--word=other'),
  )
  const third = configuration(port, unhurried({ parameters: { word: 'other' } }), '#!/bin/sh\nexit 9\n')
  test.match(await apply(second, third), { ok: true })
  test.match(await until('the result', () => row(ask), isDownFor(/PROCERR 9/)), { status: 'DOWN', check: /PROCERR 9/ })
  test.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'no reload at all')
})

t.test('timeouts.check limits a script, and the timeout for connections does not', { skip }, async (test) => {
  const slow = '#!/bin/bash\nsleep 2\n'
  const results: string[] = []
  for (const check of [1, 8]) {
    const { apply, ask } = haproxyFixture(test)
    const view = configuration(19_001, own({ interval: 9, fall: 1 }), slow)
    const l7Backends = [...view.list('l7Backends')].map((one) => ({ ...one, timeoutConnect: 1, timeouts: { check } }))
    const desired = viewOf({
      healthChecks: view.list('healthChecks'),
      realServers: view.list('realServers'),
      l7Backends,
    })
    test.match(await apply(undefined, desired), { ok: true })
    const { check: result } = await until(
      'the result',
      () => row(ask),
      ({ check: found }) => found.startsWith('PROC'),
    )
    results.push(result.split(' ')[0] ?? '')
  }
  test.strictSame(results, ['PROCERR', 'PROCOK'])
})

t.test('a script that hangs fails, and delays nothing', { skip }, async (test) => {
  const { apply, ask } = haproxyFixture(test)
  test.match(await apply(undefined, configuration(await freePort(), own(), '#!/bin/sh\nsleep 3600\n')), { ok: true })
  test.match(await until('the result', () => row(ask), isDownFor(/PROCTOUT/)), { status: 'DOWN', check: /PROCTOUT/ })
})

t.test('a reload during a check keeps the state of the server', { skip }, async (test) => {
  const { apply, ask } = haproxyFixture(test)
  const { port } = await origin(test)
  const first = configuration(port, own())
  test.match(await apply(undefined, first), { ok: true })
  await until(
    'the result',
    () => row(ask),
    ({ check }) => check.includes('PROCOK'),
  )
  test.match(await apply(first, first, 'reload'), { ok: true })
  test.match(
    await until(
      'the result',
      () => row(ask),
      ({ check }) => check.includes('PROCOK'),
    ),
    { status: 'UP' },
  )
})

t.test(
  'a server that moves at runtime is checked at its new address; a new server needs a reload',
  { skip },
  async (test) => {
    const { apply, ask } = haproxyFixture(test)
    const [here, there] = [await origin(test), await origin(test)]
    const first = configuration(here.port, own())
    test.match(await apply(undefined, first), { ok: true })
    const second = configuration(there.port, own())
    test.match(await apply(first, second), { ok: true })
    await until(
      'the words',
      () => there.told,
      (all) => all.join('').includes(`127.0.0.1\n${there.port}\n`),
    )
    test.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'no reload so far')
    const third = viewOf({
      healthChecks: [ownCheck('own', { script: TELLS, parameters })],
      realServers: [realServer('r1', { port: there.port }), realServer('r2', { port: here.port })],
      l7Backends: [backend('b', ['r1', 'r2'], { mode: 'tcp', healthCheck: own() })],
      l7Frontends: [frontend('f', 'b', { mode: 'tcp', ports: '8443', enabled: false })],
    })
    test.match(await apply(second, third), { ok: true })
    const stat = await until(
      'the result',
      () => ask('@1 show stat'),
      (text) => /^b,r2,.*PROCOK/m.test(text),
    )
    test.match(stat, /^b,r2,.*PROCOK/m, 'the new server is checked as well')
  },
)

const GREETINGS: Readonly<
  Record<string, { readonly answers: readonly string[]; readonly parameters?: Record<string, string> }>
> = {
  smtp: { answers: ['220 mail.example ESMTP\r\n', '250-mail.example\r\n250 HELP\r\n'] },
  'smtp of many lines': { answers: ['220-mail.example ESMTP\r\n220 Authorised use only\r\n', '250 mail.example\r\n'] },
  ldap: { answers: ['', '300c02010161070a010004000400'] },
}

t.test('HAProxy itself finds a mail server down that greets with an error', async (test) => {
  const { apply, ask } = haproxyFixture(test)
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('554-mail.example\r\n554 no service, 220 is far\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => server.close())
  const setting: HealthCheckSetting = { type: 'script', id: 'smtp', interval: 1, rise: 1, fall: 1 }
  const { port } = server.address() as AddressInfo
  test.match(await apply(undefined, configuration(port, setting)), { ok: true })
  test.match(await until('the result', () => row(ask), isDownFor(/L7/)), { status: 'DOWN' })
})

for (const [kind, { answers }] of Object.entries(GREETINGS)) {
  t.test(`HAProxy itself checks ${kind}`, async (test) => {
    const [id = ''] = kind.split(' ')
    const { apply, ask } = haproxyFixture(test)
    const open = new Set<Socket>()
    const server = createServer((socket) => {
      open.add(socket)
      socket.on('error', () => undefined)
      const [greeting = '', answer = ''] = answers
      if (greeting !== '') socket.write(greeting)
      socket.on('data', () => socket.write(id === 'ldap' ? Buffer.from(answer, 'hex') : answer))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stop = () => {
      for (const socket of open) socket.destroy()
      server.close()
    }
    test.teardown(stop)
    const { port } = server.address() as AddressInfo
    const setting: HealthCheckSetting = { type: 'script', id, interval: 1, rise: 1, fall: 1 }
    test.match(await apply(undefined, configuration(port, setting)), { ok: true })
    test.match(
      await until(
        'the result',
        () => row(ask),
        ({ check }) => check.startsWith('L7OK'),
      ),
      { status: 'UP' },
    )
    stop()
    test.match(await until('the result', () => row(ask), isDownFor(/L4CON/)), { status: 'DOWN', check: /L4CON/ })
  })
}
