import t from 'tap'
import { endpoints } from '../../src/resources/index.ts'
import { applianceFixture, ETH1 } from '../fixtures/appliance.ts'
import { documentOf } from '../fixtures/openapi-document.ts'
import type { Json } from '../fixtures/read-document.ts'

/** The required fields of each creation, and nothing else; `{name}` is the id of the record with that name. */
const LEAST: readonly (readonly [string, Json])[] = [
  ['groups.create', { id: 'ops', name: 'Ops' }],
  [
    'localUsers.create',
    { email: 'a@test', firstname: 'A', lastname: 'B', password: 'a-good-password', disabled: false },
  ],
  ['realServers.create', { name: 'web', ip: '192.0.2.1', port: 80 }],
  ['healthChecks.create', { name: 'own', description: 'mine', script: '#!/bin/sh\nexit 0\n', services: ['layer-7'] }],
  ['l4Backends.create', { name: 'l4' }],
  [
    'l4Frontends.create',
    { name: 'l4 fe', ip: '192.0.2.2', ports: '80', protocol: 'tcp', forwarding: 'gate', backendId: '{l4}' },
  ],
  ['l7Backends.create', { name: 'l7', mode: 'http' }],
  ['l7Frontends.create', { name: 'l7 fe', mode: 'http', ip: '192.0.2.3', ports: '80' }],
  ['cipherLists.create', { name: 'modern', ciphers: ['TLS_AES_128_GCM_SHA256'] }],
  ['acmeAccounts.create', { name: 'ca', directoryUrl: 'https://ca.test/dir', termsAgreed: true }],
  ['acmeOrders.create', { name: 'site', accountId: '{ca}', names: ['site.test'] }],
  ['ipGroups.create', { name: 'dmz' }],
  ['ipRoutes.create', { name: 'none', type: 'blackhole', destination: '198.51.100.0/24' }],
  ['snmpUsers.create', {}],
  ['alertRules.create', { name: 'any', when: { type: 'event', events: ['node'] } }],
  ['alertTargets.create', { name: 'hook', type: 'webhook', url: 'https://hook.test/x' }],
]

/** They take values from the IP group: its interface is that of a machine. */
const NETWORKED = new Set(['staticIps.create', 'floatingIps.create'])

/** Values that are generated or derived from other fields: the document cannot state them. */
const MADE: Readonly<Record<string, readonly string[]>> = {
  'snmpUsers.create': ['username'],
  'healthChecks.create': ['parameters'],
  'acmeOrders.create': ['certificateId'],
}

t.test('a default of the document is what the daemon fills in, and what it fills in is a default', async (test) => {
  const { call, node } = await applianceFixture(test)
  const document = documentOf(endpoints)
  const ids = new Map<string, string>()
  let compared = 0
  const create = async (name: string, body: Json): Promise<void> => {
    const endpoint = endpoints.find((one) => one.name === name)
    if (endpoint === undefined) throw new Error(name)
    const filled = JSON.parse(JSON.stringify(body).replaceAll(/\{([^{}":]+)\}/g, (_, one) => ids.get(one) ?? one))
    const answer = await call('POST', `${endpoint.path.replace('{applianceId}', node)}?return=record`, { body: filled })
    test.equal(answer.status, 201, `${name}: ${answer.text}`)
    const record: Json = answer.json.data
    ids.set(body.name, record.id)
    const schema = document.resolved(document.operation(endpoint).requestBody.content['application/json'].schema)
    const spellings = new Set(Object.entries(endpoint.spellings).flat())
    for (const [field, { default: said }] of Object.entries<Json>(schema.properties)) {
      if (field in body || spellings.has(field) || MADE[name]?.includes(field)) continue
      if (record[field] === undefined) continue
      test.same(record[field], said, `${name} ${field}`)
      compared += 1
    }
  }
  for (const [name, body] of LEAST) await create(name, body)
  await create('ipGroups.create', {
    name: 'lan',
    networkIp: '192.0.2.0',
    networkMask: 24,
    assignedInterfaces: [{ nodeId: node, interfaceId: ETH1 }],
  })
  const groupId = ids.get('lan')
  await create('staticIps.create', { groupId, ip: '192.0.2.10' })
  await create('floatingIps.create', { groupId, ip: '192.0.2.11' })
  test.ok(compared > 70, `${compared} defaults`)
  const withDefaults = endpoints.filter(({ name, method, status }) => {
    if (method !== 'POST' || status !== 201) return false
    const { requestBody } = document.operation(endpoints.find((one) => one.name === name) as never)
    if (requestBody === undefined) return false
    const schema = document.resolved(requestBody.content['application/json'].schema)
    return Object.values<Json>(schema.properties).some((field) => 'default' in field)
  })
  const tried = new Set([...LEAST.map(([name]) => name), ...NETWORKED])
  // The answer for a certificate has no field with a default: parts that were not sent are no part of it.
  test.same(
    withDefaults.map(({ name }) => name).filter((name) => !tried.has(name)),
    ['certificates.create'],
  )
})
