import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('the table of a frontend, and its clearing', async (test) => {
  const { call } = await borrow()
  const made = async (path: string, body: object) => (await call('POST', path, { body })).json.data.id
  const ripId = await made('/ipvsDirector/rips', { name: 'r', ip: '10.0.0.1', port: 80 })
  const backendId = await made('/ipvsDirector/backends', { name: 'be', persistTimeout: 300, reals: [{ ripId }] })
  const frontend = { name: 'fe', ip: '192.0.2.10', ports: '80', protocol: 'tcp', forwarding: 'masq', backendId }
  const id = await made('/ipvsDirector/frontends', frontend)
  const path = `/ipvsDirector/sticktable/${id}`
  test.equal((await call('GET', path)).status, 404, 'it does not run yet')
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const table = await call('GET', path)
  test.equal(table.status, 200)
  test.match(table.json, { uid: id, data: { id, elements: [] } })
  test.match(await call('DELETE', path), { status: 200, json: { uid: id, data: [] } })
  test.match(await call('DELETE', `${path}/198.51.100.7`), { status: 404, json: { code: 'NOT_FOUND' } })
})
