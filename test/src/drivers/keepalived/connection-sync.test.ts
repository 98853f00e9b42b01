import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { withInterfaceNames } from '../../../../src/drivers/interface-names.ts'
import { syncedNodes, syncProblems, syncStatement } from '../../../../src/drivers/keepalived/connection-sync.ts'
import { keepalivedDriver } from '../../../../src/drivers/keepalived/driver.ts'
import type { IpGroup } from '../../../../src/model/network.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { apart, lacks } from '../../../fixtures/programs-apart.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'

const group = (id: string, assigned: Readonly<Record<string, string>>, more: Partial<IpGroup> = {}): IpGroup => ({
  id,
  name: `${id} link`,
  networkIp: '',
  networkMask: 0,
  gateway: '',
  defaultGateway: false,
  assignedInterfaces: Object.entries(assigned).map(([nodeId, interfaceId]) => ({ nodeId, interfaceId })),
  ...more,
})
const lan = group('lan', { n1: 'card-1', n2: 'card-2' })
const sync = group('sync', { n1: 'card-3', n2: 'card-4' }, { connectionSync: true })
const site = (...ipGroups: readonly IpGroup[]): Required<Pick<Records, 'ipGroups'>> & Records => ({
  realServers: [realServer('web', { ip: '10.0.0.21', port: 80 })],
  l4Backends: [l4Backend('be', ['web'])],
  l4Frontends: [l4Frontend('fe', 'be')],
  ipGroups: [...ipGroups],
})
const driver = keepalivedDriver('n1')
const plan = (running: Records | undefined, desired: Records) =>
  driver.plan(running && viewOf(running), viewOf(desired), { atLeast: 'runtime' })

t.test('nodes synchronise over their interfaces in the group, under one number', (t) => {
  const view = viewOf(site(lan, sync))
  const [one, two] = ['n1', 'n2'].map((nodeId) => syncStatement(view, nodeId))
  t.match(one, /^lvs_sync_daemon \{interface:card-3\} id \d{1,3}$/)
  t.match(two, /^lvs_sync_daemon \{interface:card-4\} id \d{1,3}$/)
  t.equal(one?.split(' ').at(-1), two?.split(' ').at(-1))
  t.same(syncedNodes(view), new Set(['n1', 'n2']))
  t.equal(syncStatement(view, 'n3'), undefined, 'a node without an interface in it')
  for (const groups of [
    [lan],
    [lan, { ...sync, connectionSync: false }],
    [lan, group('sync', { n1: 'c' }, { connectionSync: true })],
  ]) {
    t.equal(syncStatement(viewOf(site(...groups)), 'n1'), undefined)
    t.equal(syncedNodes(viewOf(site(...groups))).size, 0)
  }
  t.end()
})

t.test('other uses of that link are refused, with the field', (t) => {
  const floatingIps = [{ id: 'f', ip: '192.0.2.9', groupId: 'sync', enabled: true }]
  const refused: readonly (readonly [records: Records, why: RegExp])[] = [
    [site(lan, { ...sync, assignedInterfaces: lan.assignedInterfaces }), /also used by the IP group lan link/],
    [{ ...site(lan, sync), floatingIps }, /the floating IP 192\.0\.2\.9 is in it/],
    [site(lan, { ...sync, gateway: '192.0.2.1' }), /it has the gateway 192\.0\.2\.1/],
    [
      site(lan, group('more', { n1: 'card-9', n2: 'card-9' }, { connectionSync: true }), sync),
      /more link already has it/,
    ],
  ]
  for (const [records, message] of refused) {
    t.match(syncProblems(viewOf(records)), [{ section: 'ipGroups', id: 'sync', field: 'connectionSync', message }])
    t.match(driver.verify(viewOf(records)), [{ field: 'connectionSync' }])
  }
  t.same(syncProblems(viewOf(site(lan, sync))), [])
  t.end()
})

t.test('keepalived is reloaded for it, and the kernel is told when it ends', (t) => {
  const change = { section: 'ipGroups', id: 'sync', before: undefined, after: sync } as const
  const effect = (running: Records, desired: Records) => driver.effectOf(change, viewOf(running), viewOf(desired))
  t.equal(effect(site(lan), site(lan, sync)), 'reload')
  t.equal(effect(site(lan, sync), site({ ...lan, name: 'other' }, sync)), undefined)
  t.equal(effect({ ipGroups: [lan] }, { ipGroups: [lan, sync] }), undefined, 'nothing is balanced')
  const words = (running: Records, desired: Records) =>
    plan(running, desired).flatMap((step) =>
      step.kind === 'run' ? [step.argv.join(' ')] : step.kind === 'unit' ? [step.verb] : [],
    )
  t.ok(words(site(lan), site(lan, sync)).includes('reload'))
  t.notOk(words(site(lan), site(lan, sync)).some((text) => text.includes('--stop-daemon')))
  const ending = words(site(lan, sync), site(lan))
  t.same(
    ending.filter((text) => text === 'reload' || text.includes('daemon')),
    ['reload', 'ipvsadm --stop-daemon master', 'ipvsadm --stop-daemon backup'],
  )
  t.notOk(words(site(lan, sync), site({ ...lan, name: 'other' }, sync)).includes('reload'))
  t.end()
})

t.test('keepalived accepts it, with the name of the interface', { skip: lacks('keepalived') }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-sync-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'keepalived.conf')
  const content = driver.render(viewOf(site(lan, sync)))[0]?.content ?? ''
  writeFileSync(file, withInterfaceNames(content, new Map([['card-3', 'lo']])))
  const judged = () => apart('keepalived', '--check', '--config-test', '--use-file', file)
  t.match(judged(), { status: 0, lines: [] })
  writeFileSync(file, withInterfaceNames(content.replace(/ id \d+/, ' number 7'), new Map()))
  t.match(judged().lines.join('\n'), /lvs_sync_daemon/, 'it reads that line')
  t.end()
})
