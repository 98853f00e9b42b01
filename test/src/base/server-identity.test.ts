import { once } from 'node:events'
import { type AddressInfo, isIP } from 'node:net'
import { connect, createServer } from 'node:tls'
import t from 'tap'
import { checkServerIdentity } from '../../../src/base/server-identity.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

/** The host, the names of a certificate, and whether they match. */
const CALLS: readonly (readonly [host: string, names: string, isIt: boolean])[] = [
  ['::1', 'IP:::1', true],
  ['0:0:0:0:0:0:0:1', 'DNS:localhost,IP:::1', true],
  ['::1', 'IP:2001:db8::1', false],
  ['::1', 'IP:127.0.0.1', false],
  ['::1', 'DNS:localhost', false],
  ['127.0.0.1', 'IP:127.0.0.1', true],
  ['127.0.0.1', 'IP:::1', false],
  ['localhost', 'DNS:localhost', true],
  ['localhost', 'IP:::1,IP:127.0.0.1', false],
]

t.test('a server is identified by the name or address that was called', async (t) => {
  const { pair } = certificateMaker(t)
  for (const [host, names, isIt] of CALLS) {
    const { cert, key } = pair({ name: 'nobody', names })
    const server = createServer({ cert, key }, (socket) => socket.end())
    server.on('tlsClientError', () => undefined)
    server.listen(0, isIP(host) === 6 ? '::1' : '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const lookup = (_: string, __: object, found: (error: null, addresses: object[]) => void) =>
      found(null, [{ address: '127.0.0.1', family: 4 }])
    const socket = connect({ host, port, ca: cert, checkServerIdentity, lookup: lookup as never })
    const said = await once(socket, 'secureConnect').then(
      () => 'it',
      (error: NodeJS.ErrnoException) => error.code,
    )
    t.equal(said, isIt ? 'it' : 'ERR_TLS_CERT_ALTNAME_INVALID', `${host}: ${names}`)
    socket.destroy()
    server.close()
  }
})
