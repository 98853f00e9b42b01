import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { assertGround } from '../../../src/membership/etcd-ground.ts'
import { refuses } from '../../fixtures/config.ts'
import { freePort } from '../../fixtures/traffic.ts'

const host = '127.0.0.1'
const says = async () => 'etcd Version: 3.5.16\nGit SHA: Not provided\n'
/** The next two are those of etcd; another process may take one meanwhile, so another one is tried. */
async function place(): Promise<number> {
  for (;;) {
    const port = await freePort()
    const free = await assertGround({ says, listen: { host, port } }, { host, port }).then(
      () => true,
      () => false,
    )
    if (free) return port
  }
}

t.test('the program has to be there, and new enough', async (t) => {
  const listen = { host, port: await place() }
  const why = async (said: string | undefined) =>
    (await refuses(t, 'NOT_SUPPORTED', assertGround({ says: async () => said, listen }, listen))).message
  t.match(await why(undefined), /not installed; install the package etcd-server/)
  t.match(await why('etcd Version: 3.4.23\n'), /3\.4\.23 is too old: install the package etcd-server/)
  t.match(await why('Segmentation fault'), /its version is not known: install/)
})

t.test('each of the three ports has to be free', async (t) => {
  const port = await place()
  const listen = { host, port: await place() }
  for (const [taken, what] of [
    [listen.port, /nodes ask each other; end what listens there, or start this daemon with another --peer/],
    [port + 1, /clients of etcd; end what listens there, or give another address/],
    [port + 2, /members/],
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

t.test('the address has to be of this node', async (t) => {
  const listen = { host, port: await place() }
  const { details } = await refuses(
    t,
    'INVALID_BODY',
    assertGround({ says, listen }, { host: '192.0.2.1', port: 9444 }),
  )
  t.match(details.errors, [{ field: 'address', code: 'ADDRESS_NOT_HERE', message: /192\.0\.2\.1:9445 is no address/ }])
})
