import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { answers, assertEtcdPorts, assertGround } from '../../../src/membership/etcd-ground.ts'
import { refuses } from '../../fixtures/config.ts'
import { ownLoopback } from '../../fixtures/traffic.ts'

const host = ownLoopback()
const port = 9444
const listen = { host, port: 9454 }
const says = async () => 'etcd Version: 3.5.16\nGit SHA: Not provided\n'
t.test('the program has to exist, and be new enough', async (t) => {
  const why = async (said: string | undefined) =>
    (await refuses(t, 'NOT_SUPPORTED', assertGround({ says: async () => said, listen }, listen))).message
  t.match(await why(undefined), /not installed; install the package etcd-server/)
  t.match(await why('etcd Version: 3.4.23\n'), /3\.4\.23 is too old: install the package etcd-server/)
  t.match(await why('Segmentation fault'), /its version is unknown: install/)
})

t.test('each of the four ports has to be free', async (t) => {
  for (const [taken, what] of [
    [listen.port, /for the peer API; stop the program that listens there, or start this daemon with another --peer/],
    [port + 1, /clients of etcd; stop the program that listens there, or choose another address/],
    [port + 2, /members/],
    [port + 3, /stick tables shared between HAProxies/],
  ] as const) {
    const other = createServer()
    other.listen(taken, host)
    await once(other, 'listening')
    const { details } = await refuses(t, 'INVALID_BODY', assertGround({ says, listen }, { host, port }))
    t.match(details.errors, [{ field: 'address', code: 'PORT_TAKEN', message: what }])
    other.close()
    await once(other, 'close')
  }
  await t.resolves(assertGround({ says, listen }, { host, port }), 'nothing is left listening')
})

t.test('the address has to belong to this node', async (t) => {
  const NOT_HERE =
    /192\.0\.2\.1:9445 is not an address of this node; it is needed for clients of etcd; choose another address$/
  const { details } = await refuses(
    t,
    'INVALID_BODY',
    assertGround({ says, listen }, { host: '192.0.2.1', port: 9444 }),
  )
  t.match(details.errors, [{ field: 'address', code: 'ADDRESS_NOT_HERE', message: NOT_HERE }])
})

t.test('it waits for an etcd that was started', async (t) => {
  let tries = 0
  const range = async () => {
    if ((tries += 1) < 3) throw new EtcdError('unreachable', 'it refuses connections')
    return { revision: 1, kvs: [], hasMore: false, count: 0 }
  }
  await answers({ range })
  t.equal(tries, 3)
  await t.rejects(answers({ range: () => Promise.reject(new TypeError('a defect')) }), TypeError)
})

t.test('ports in use by its own etcd at the present address are allowed', async (t) => {
  const other = createServer()
  other.listen(port + 2, host)
  await once(other, 'listening')
  await t.resolves(assertEtcdPorts({ host, port }, { host, port }))
  await refuses(t, 'INVALID_BODY', assertEtcdPorts({ host, port }, { host, port: port + 10 }))
  other.close()
  await once(other, 'close')
})
