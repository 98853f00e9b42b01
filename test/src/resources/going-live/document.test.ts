import t from 'tap'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('sections and owners of a document are chosen, and names are used for ids', async (test) => {
  const { call } = await borrow()
  const make = async (path: string, body: object) => (await call('POST', path, { body })).json.data.id
  await make('/ipvsDirector/rips', { name: 'b', ip: '192.0.2.1', port: 80, owner: 'team' })
  const ripId = await make('/ipvsDirector/rips', { name: 'a', ip: '192.0.2.2', port: null })
  const id = await make('/healthchecks', {
    name: 'own',
    description: '',
    script: '#!/bin/sh\nexit 0\n',
    services: ['layer-4'],
  })
  const check = (sent: string) => ({ type: 'script', id: sent })
  await make('/ipvsDirector/backends', { name: 'own', reals: [{ ripId, port: 81 }], healthCheck: check(id) })
  await make('/ipvsDirector/backends', { name: 'ping', reals: [{ ripId }], healthCheck: check('ping'), owner: 'team' })
  const read = async (query: string) => (await call('GET', `/config/document${query}`)).json.data
  test.same(await read(''), {
    version: 1,
    healthChecks: { own: { description: '', script: '#!/bin/sh\nexit 0\n', services: ['layer-4'] } },
    realServers: { a: { ip: '192.0.2.2' }, b: { ip: '192.0.2.1', port: 80, owner: 'team' } },
    l4Backends: {
      own: { reals: [{ ripId: 'a', port: 81 }], healthCheck: check('own') },
      ping: { reals: [{ ripId: 'a' }], healthCheck: check('ping'), owner: 'team' },
    },
  })
  test.same(await read('?sections=realServers&owner=team'), {
    version: 1,
    owner: 'team',
    realServers: { b: { ip: '192.0.2.1', port: 80 } },
  })
  test.same(await read('?sections=realServers&owner='), { version: 1, realServers: { a: { ip: '192.0.2.2' } } })
  test.same(Object.keys(await read('')), ['version', 'healthChecks', 'realServers', 'l4Backends'])
})
