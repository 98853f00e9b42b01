import t from 'tap'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import type { RecordChange } from '../../../../src/model/sections.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { PATHS, type Records, viewOf } from './records.ts'

const driver = haproxyDriver(PATHS)
const runtime = { atLeast: 'runtime' } as const

const base: Required<Pick<Records, 'realServers' | 'l7Frontends' | 'l7Backends'>> = {
  realServers: [realServer('r1'), realServer('r2'), realServer('spare')],
  l7Frontends: [frontend('f', 'b')],
  l7Backends: [
    backend('b', ['r1', 'r2']),
    backend('cookies', ['r1'], { persistence: { type: 'cookie' } }),
    backend('off', ['r1'], { enabled: false }),
  ],
}
const replaced = <N extends keyof typeof base>(section: N, record: Required<Records>[N][number]): Records => ({
  ...base,
  [section]: base[section].map((old) => (old.id === record.id ? record : old)),
})
const kinds = (before: Records | undefined, after: Records, options: Parameters<typeof driver.plan>[2] = runtime) =>
  driver
    .plan(before && viewOf(before), viewOf(after), options)
    .map((step) => (step.kind === 'unit' ? `${step.verb} (${step.whenUnchanged})` : step.kind))

t.test('plans by type of change', (t) => {
  const runtimeOnly = ['socket', 'replaceFile']
  const reload = ['check', 'replaceFile', 'reload (act)', 'keepOnly']
  t.strictSame(kinds(base, base), [], 'nothing')
  t.strictSame(kinds(base, replaced('realServers', realServer('r2', { weight: 5 }))), runtimeOnly, 'a weight')
  t.strictSame(kinds(base, replaced('realServers', realServer('r2', { state: 'halted' }))), runtimeOnly, 'a state')
  t.strictSame(kinds(base, replaced('realServers', realServer('r2', { ip: '::1' }))), runtimeOnly, 'an address')
  t.strictSame(
    kinds(base, replaced('l7Backends', backend('b', ['r1', 'r2', 'spare']))),
    runtimeOnly,
    'a server is added',
  )
  t.strictSame(kinds(base, replaced('l7Backends', backend('b', ['r1']))), runtimeOnly, 'a server is removed')
  t.strictSame(kinds(base, replaced('realServers', realServer('r2', { name: 'new' }))), ['replaceFile'], 'a name')
  t.strictSame(kinds(base, replaced('realServers', realServer('spare', { weight: 1 }))), [], 'an unused server')
  t.strictSame(kinds(base, replaced('l7Frontends', frontend('f', 'b', { ports: '81' }))), reload, 'a port')
  t.end()
})

t.test('plans of at least a given cost, and of an unknown machine', (t) => {
  const weight = replaced('realServers', realServer('r2', { weight: 5 }))
  t.strictSame(kinds(base, weight, { atLeast: 'reload' }), ['check', 'replaceFile', 'reload (act)', 'keepOnly'])
  t.strictSame(kinds(base, base, { atLeast: 'restart' }), ['check', 'replaceFile', 'restart (act)', 'keepOnly'])
  t.strictSame(
    kinds(undefined, base),
    ['check', 'replaceFile', 'reload (skip)', 'keepOnly'],
    'a running HAProxy is adopted',
  )
  t.strictSame(kinds(undefined, base, { atLeast: 'reload' }), ['check', 'replaceFile', 'reload (act)', 'keepOnly'])
  t.end()
})

t.test('the checker checks exactly the file that is put in place', (t) => {
  const [check, replace] = driver.plan(undefined, viewOf(base), runtime)
  const { content } = driver.render(viewOf(base))[0] ?? {}
  t.match(check, { path: PATHS.configFile, content, argv: ['haproxy', '-c', '-f', `${PATHS.configFile}.candidate`] })
  t.match(replace, { path: PATHS.configFile, content, checked: true })
  t.end()
})

t.test('very many changes are one reload', (t) => {
  const realServers = Array.from({ length: 2000 }, (_, index) => realServer(`s${index}`))
  const l7Backends = [
    backend(
      'b',
      realServers.map(({ id }) => id),
    ),
  ]
  const halved = realServers.map((real) => ({ ...real, weight: 50 }))
  const before = { realServers, l7Backends }
  t.strictSame(kinds(before, { realServers: halved, l7Backends }), ['check', 'replaceFile', 'reload (act)', 'keepOnly'])
  t.strictSame(kinds(before, { realServers: [...halved.slice(0, 500), ...realServers.slice(500)], l7Backends }), [
    'socket',
    'replaceFile',
  ])
  t.end()
})

t.test('the effect of each change', (t) => {
  const effectOf = <N extends keyof typeof base>(
    section: N,
    id: string,
    after: Required<Records>[N][number] | undefined,
  ) => {
    const records = base[section] as readonly Required<Records>[N][number][]
    const before = records.find((record) => record.id === id)
    const kept = records.filter((record) => record.id !== id)
    const desired = viewOf({ ...base, [section]: after === undefined ? kept : [...kept, after] })
    return driver.effectOf({ section, id, before, after } as RecordChange, viewOf(base), desired)
  }
  const real = (id: string, more: Parameters<typeof realServer>[1]) => effectOf('realServers', id, realServer(id, more))
  t.equal(real('r2', { weight: 1 }), 'runtime')
  t.equal(real('r2', { name: 'new' }), 'runtime')
  t.equal(real('r2', { port: null }), 'reload')
  t.equal(real('r1', { state: 'drained' }), 'runtime', 'in every backend')
  t.equal(real('spare', { weight: 1 }), undefined, 'in no backend')
  t.equal(effectOf('l7Frontends', 'f', frontend('f', 'b', { name: 'new' })), 'runtime')
  t.equal(effectOf('l7Frontends', 'f', undefined), 'reload')
  t.equal(effectOf('l7Frontends', 'g', frontend('g', null, { enabled: false })), 'runtime')
  t.equal(effectOf('l7Backends', 'b', backend('b', ['r1'])), 'runtime')
  t.equal(effectOf('l7Backends', 'b', backend('b', ['r1', 'r2'], { timeoutServer: 1 })), 'reload')
  t.equal(
    effectOf('l7Backends', 'cookies', backend('cookies', ['r1', 'r2'], { persistence: { type: 'cookie' } })),
    'reload',
  )
  t.equal(effectOf('l7Backends', 'new', backend('new', [])), 'reload')
  t.equal(effectOf('l7Backends', 'off', undefined), 'runtime')
  t.equal(
    driver.effectOf({ section: 'groups', id: 'x', before: undefined, after: undefined }, viewOf(base), viewOf(base)),
    undefined,
  )
  t.end()
})

t.test('verify and diagnose name the same records', (t) => {
  t.strictSame(driver.verify(viewOf(base)), [])
  t.match(driver.diagnose('', viewOf(base)), [{ message: /no reason/ }])
  t.end()
})

t.test('a port on an address that this apply adds is not tested beforehand', (t) => {
  const address = { id: 's', nodeId: 'n', groupId: 'g', ip: '192.0.2.1', externalPingCheck: false }
  const added = { ...base, l7Frontends: [frontend('f', 'b', { ip: '192.0.2.1' })] }
  const claimed = (before: Records, after: Records) =>
    driver
      .plan(viewOf(before), viewOf(after), runtime)
      .flatMap((step) => (step.kind === 'check' ? (step.ports ?? []) : []))
  t.match(claimed(base, added), [{ ip: '192.0.2.1', port: 8080 }])
  t.strictSame(claimed(base, { ...added, staticIps: [address] }), [])
  t.match(claimed({ ...base, staticIps: [address] }, { ...added, staticIps: [address] }), [{ ip: '192.0.2.1' }])
  t.end()
})

t.test('HAProxy may continue with what it serves before the first apply', (t) => {
  const inherits = (before: Records) =>
    driver
      .plan(viewOf(before), viewOf({ ...base, l7Frontends: [frontend('new', 'b', { ports: '90' })] }), runtime)
      .flatMap((step) => (step.kind === 'check' ? (step.ports ?? []) : []))
      .map(({ isInherited }) => isInherited)
  const { l7Frontends: _frontends, l7Backends: _backends, ...others } = base
  t.same(inherits(others), [true])
  t.same(inherits(base), [undefined])
  t.end()
})
