import t from 'tap'
import {
  checkLines,
  haproxyCheckFiles,
  isProgram,
  programBackends,
  serverCheck,
} from '../../../../src/drivers/haproxy/checks.ts'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import type { HealthCheckSetting } from '../../../../src/model/health-check.ts'
import type { L7Backend } from '../../../../src/model/layer7.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { ownCheck } from '../../../fixtures/health-check.ts'
import { PATHS, viewOf } from './records.ts'

const lines = (healthCheck: HealthCheckSetting) => checkLines(backend('b', [], { healthCheck }), '/checks')
const script = (id: string, parameters: Record<string, string> = {}): HealthCheckSetting => ({
  type: 'script',
  id,
  parameters,
})

t.test('checks that HAProxy supports are its own', async (test) => {
  test.strictSame(lines({ type: 'none' }), [])
  test.strictSame(lines(script('tcp')), [])
  const success = String.raw`tcp-check expect rstring '(^|\n)2[0-9][0-9][ \r]'`
  test.strictSame(lines(script('smtp', { domain: 'lb.example.org' })), [
    'option tcp-check',
    'tcp-check connect default linger',
    success,
    String.raw`tcp-check send EHLO\ lb.example.org\r\n`,
    success,
    String.raw`tcp-check send QUIT\r\n`,
    success,
  ])
  test.strictSame(lines(script('ldap')), ['option ldap-check'])
  test.strictSame(lines(script('mysql')), ['option mysql-check'])
  test.strictSame(lines(script('mysql', { user: "o'neil" })), [String.raw`option mysql-check user 'o'\''neil'`])
  test.strictSame(
    lines(script('https', { host: 'h', expect: '204' })),
    lines({ type: 'https', host: 'h', expect: '204' }),
  )
})

t.test('values are never words of HAProxy', async (test) => {
  for (const parameters of [
    { expect: '200 on-error "%[env(PATH)]"' },
    { expect: '100-599 # x' },
    { expect: '999' },
    { host: '%[env(PATH)]' },
    { host: 'a b' },
    { path: '/a b' },
  ] as const) {
    for (const id of ['http', 'https']) {
      test.strictSame(
        lines(script(id, parameters)),
        ['option external-check', 'external-check command /checks/backend-b'],
        JSON.stringify(parameters),
      )
      test.match(serverCheck(script(id, parameters)), { isTls: false, host: undefined })
    }
  }
  test.strictSame(lines(script('mysql', { user: '' })), ['option mysql-check'])
})

t.test('for all others it starts the program of the backend', async (test) => {
  const program = ['option external-check', 'external-check command /checks/backend-b']
  for (const check of [script('ping'), script('http', { text: 'x' }), script('own')]) {
    test.strictSame(lines(check), program)
    test.equal(isProgram(check), true)
    test.strictSame(serverCheck(check), { text: ' check inter 2s rise 2 fall 3', isTls: false, host: undefined })
  }
  test.equal(serverCheck({ type: 'none' }), undefined)
  test.equal(serverCheck(script('https'))?.isTls, true)
})

const records = (more: Partial<L7Backend> = {}, text = '#!/bin/sh\n') => ({
  realServers: [realServer('r1')],
  healthChecks: [ownCheck('own', { script: text, parameters: [{ name: 'a', type: 'string' }] })],
  l7Backends: [backend('b', ['r1'], { healthCheck: script('own'), ...more })],
  l7Frontends: [frontend('g', 'b', { ip: '192.0.2.9' }), frontend('f', 'b', { ip: '2001:db8::1', ports: '8443,80' })],
})

t.test('the first frontend is VIP and VPORT', async (test) => {
  const texts = (view: ReturnType<typeof viewOf>) => haproxyCheckFiles(view, PATHS).map(({ content }) => content)
  test.match(texts(viewOf(records()))[0], ' 2001:db8::1 8443 "$3" "$4" ')
  test.match(texts(viewOf({ ...records(), l7Frontends: [] }))[0], ' 0.0.0.0 0 "$3" "$4" ')
  test.strictSame(texts(viewOf(records({ enabled: false }))), [])
  test.strictSame(programBackends(viewOf(records({ enabled: false }))), [])
})

const driver = haproxyDriver(PATHS)
const kinds = (before: ReturnType<typeof records> | undefined, after: ReturnType<typeof records>) =>
  driver
    .plan(before === undefined ? undefined : viewOf(before), viewOf(after), { atLeast: 'runtime' })
    .map((step) => (step.kind === 'replaceFile' ? step.path.replace(/^.*\//, '') : step.kind))

t.test('programs exist before HAProxy uses them, and are deleted afterwards', async (test) => {
  const native = records({ healthCheck: { type: 'tcp' } })
  const files = ['sandbox', 'backend-b', 'script-own']
  const whole = ['haproxy.cfg', 'unit', 'keepOnly']
  test.strictSame(kinds(native, records()), ['check', 'check', ...files, ...whole])
  test.strictSame(kinds(records(), native), ['check', ...whole, 'keepOnly'])
  test.strictSame(kinds(undefined, records()), ['check', 'check', ...files, ...whole, 'keepOnly'])
})

t.test('another text, or other values, need no reload', async (test) => {
  test.strictSame(kinds(records(), records({}, '#!/bin/sh\nexit 1\n')), ['script-own'])
  test.strictSame(kinds(records(), records({ healthCheck: script('own', { a: '1' }) })), ['backend-b'])
  const [running, desired] = [viewOf(records()), viewOf(records({}, '#!/bin/sh\nexit 1\n'))]
  const [before] = records().healthChecks
  const change = { section: 'healthChecks', id: 'own', before, after: before } as const
  test.equal(driver.effectOf(change, running, desired), 'runtime')
  test.equal(driver.effectOf({ ...change, id: 'other' }, running, desired), undefined)
})

t.test('invalid records from a backup are refused with the backend', async (test) => {
  const broken = viewOf(records({ healthCheck: script('own', { b: '1' }) }))
  test.match(driver.verify(broken), [{ section: 'l7Backends', id: 'b', field: 'healthCheck.parameters.b' }])
  test.match(driver.verify(viewOf({ ...records(), healthChecks: [] })), [{ id: 'b', field: 'healthCheck.id' }])
})
