import t from 'tap'
import { effectOf, isSameStructure } from '../../../../src/drivers/keepalived/effect.ts'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import type { RecordChange, SectionName } from '../../../../src/model/sections.ts'
import { ownCheck } from '../../../fixtures/health-check.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'

const BASE: Records = {
  realServers: [realServer('web', { ip: '10.0.0.1', port: 80 }), realServer('other', { ip: '10.0.0.2', port: 80 })],
  healthChecks: [ownCheck('own'), ownCheck('unused')],
  l4Backends: [l4Backend('be', ['web'], { healthCheck: { type: 'script', id: 'own' } }), l4Backend('idle', ['other'])],
  l4Frontends: [l4Frontend('fe', 'be')],
  floatingIps: [{ id: 'f', groupId: 'g', ip: '192.0.2.10', enabled: true }],
}
function effect(section: SectionName, id: string, desired: Records) {
  const find = (records: Records) => records[section]?.find((one) => one.id === id)
  const change = { section, id, before: find(BASE), after: find(desired) } as RecordChange
  return effectOf(change, viewOf(BASE), viewOf(desired))
}

t.test('weights, states, names and texts of scripts are changed at runtime', async (test) => {
  for (const more of [{ weight: 7 }, { state: 'halted' as const }, { name: 'new name' }]) {
    const realServers = [realServer('web', { ip: '10.0.0.1', port: 80, ...more }), realServer('other')]
    test.equal(effect('realServers', 'web', { ...BASE, realServers }), 'runtime', JSON.stringify(more))
  }
  test.equal(effect('l4Frontends', 'fe', { ...BASE, l4Frontends: [l4Frontend('fe', 'be', { name: 'n' })] }), 'runtime')
  const healthChecks = [ownCheck('own', { script: '#!/bin/sh\n' })]
  test.equal(effect('healthChecks', 'own', { ...BASE, healthChecks }), 'runtime')
})

t.test('any other change of a service is a reload', async (test) => {
  const realServers = [realServer('web', { ip: '10.0.0.9', port: 80 })]
  test.equal(effect('realServers', 'web', { ...BASE, realServers }), 'reload')
  test.equal(effect('l4Backends', 'be', { ...BASE, l4Backends: [l4Backend('be', ['web', 'other'])] }), 'reload')
  test.equal(effect('l4Frontends', 'fe', { ...BASE, l4Frontends: [] }), 'reload')
  test.equal(
    effect('l4Frontends', 'fe', { ...BASE, l4Frontends: [l4Frontend('fe', 'be', { ports: '80,81' })] }),
    'reload',
  )
  const floatingIps = [{ id: 'f', groupId: 'g', ip: '192.0.2.10', enabled: false }]
  test.equal(effect('floatingIps', 'f', { ...BASE, floatingIps }), 'reload')
})

t.test('a record that serves nowhere has no effect', async (test) => {
  test.equal(effect('realServers', 'other', BASE), undefined)
  test.equal(effect('l4Backends', 'idle', BASE), undefined)
  test.equal(effect('healthChecks', 'unused', BASE), undefined)
  test.equal(effect('users', 'admin', BASE), undefined)
})

t.test('the same records give the same object, and other ports of one mark another structure', async (test) => {
  const view = viewOf(BASE)
  const [first] = servedFrontends(view)
  const [again] = servedFrontends(view)
  test.equal(first, again)
  const ports = (text: string) =>
    servedFrontends(viewOf({ ...BASE, l4Frontends: [l4Frontend('fe', 'be', { ports: text })] }))
  test.notOk(isSameStructure(ports('80,81')[0], ports('80,82')[0]))
})
