import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { portProblem } from '../../../workers/host/port-probe.ts'

t.test('a port is free or there is a reason', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.equal(await portProblem('127.0.0.1', port), 'Address already in use')
  t.equal(await portProblem('0.0.0.0', port), 'Address already in use', 'a wildcard meets every address')
  t.equal(await portProblem('::', port), undefined, 'of its own family')
  server.close()
  await once(server, 'close')
  t.equal(await portProblem('127.0.0.1', port), undefined)
  t.equal(await portProblem('127.0.0.1', port), undefined, 'trying leaves nothing behind')
  t.equal(await portProblem('192.0.2.77', port), 'Cannot assign requested address')
})
