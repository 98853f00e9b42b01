import { connect } from 'node:tls'
import t from 'tap'
import { us_socket_local_port } from 'uWebSockets.js'
import { openSocket } from '../../../src/http/listening.ts'
import { Acceptor, OwnSpeakers } from '../../../src/http/acceptor.ts'
import { tlsFiles } from '../../fixtures/certificate.ts'

/** Sends a request on a connection of its own; the answer names the presented certificate. */
function asked(port: number): Promise<{ readonly fingerprint: string; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      const fingerprint = socket.getPeerCertificate().fingerprint256
      let text = ''
      socket.on('data', (chunk) => (text += chunk.toString()))
      socket.on('close', () => resolve({ fingerprint, text }))
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    })
    socket.on('error', reject)
  })
}

t.test('a client gets the current certificate, and the same service', async (test) => {
  const [one, two] = [await tlsFiles(test, 'one'), await tlsFiles(test, 'two')]
  const addresses: string[] = []
  const speakers = new OwnSpeakers((app) => {
    app.any('/*', (response) => {
      addresses.push(Buffer.from(response.getRemoteAddressAsText()).toString())
      response.end('served', true)
    })
  })
  const front = await Acceptor.open(one.tls, speakers)
  test.teardown(() => front.close())
  const port = us_socket_local_port(await openSocket(front.application, { host: '127.0.0.1', port: 0 }))
  test.match(await asked(port), { fingerprint: one.fingerprint, text: /served$/ })
  const takeBack = await front.present(two.tls)
  test.match(await asked(port), { fingerprint: two.fingerprint, text: /served$/ })
  takeBack()
  test.match(await asked(port), { fingerprint: one.fingerprint })
  await test.rejects(front.present({ ...two.tls, keyFile: one.tls.keyFile }))
  test.match(await asked(port), { fingerprint: one.fingerprint })
  test.same(new Set(addresses), new Set(['127.0.0.1']), 'the address of a client is known as before')
})
