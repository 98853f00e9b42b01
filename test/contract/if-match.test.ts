import t from 'tap'
import { parametersOf } from '../../src/api/openapi-parameters.ts'
import { refusalCodes } from '../../src/api/refusal-codes.ts'
import { endpoints } from '../../src/resources/index.ts'
import { applianceFixture } from '../fixtures/appliance.ts'

/** Every request that could change something; changes.test.ts shows that those with a comparison compare. */
const writes = endpoints.filter(({ method, permissionOnly }) => method !== 'GET' && !permissionOnly)
const takes = (endpoint: (typeof writes)[number]) =>
  parametersOf(endpoint).some(({ $ref }) => $ref === '#/components/parameters/IfMatch')

t.test('the document says of every endpoint whether it accepts If-Match, and that it may be refused', async (test) => {
  for (const endpoint of writes) {
    test.equal(takes(endpoint), endpoint.comparesRevision, endpoint.name)
    test.ok(refusalCodes(endpoint).includes('REVISION_MISMATCH'), endpoint.name)
  }
  test.notOk(writes.some(({ method, comparesRevision }) => method === 'POST' && comparesRevision))
})

t.test('REVISION_MISMATCH: an If-Match without anything to compare, and nothing is done', async (test) => {
  const { call, machine, node } = await applianceFixture(test)
  machine.host.takeJournal()
  const uncompared = writes.filter((endpoint) => !endpoint.comparesRevision && endpoint.body === undefined)
  test.ok(uncompared.length > 20)
  for (const { method, path, name } of uncompared) {
    const real = path.replace(/\{applianceI[dD]\}/, node).replaceAll(/\{\w+\}/g, '1')
    for (const sent of ['"1"', '*']) {
      const { json } = await call(method, real, { headers: { 'if-match': sent } })
      test.match(json, { code: 'REVISION_MISMATCH', message: /repeat without it/, data: { current: null, sent } }, name)
    }
  }
  test.same(machine.host.takeJournal(), [])
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})
