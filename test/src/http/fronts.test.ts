import { connect } from 'node:tls'
import t from 'tap'
import { tlsFiles } from '../../fixtures/certificate.ts'
import { ok, threadInFront } from '../../fixtures/in-front.ts'

const listenInFront = await threadInFront(t)

function shownAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

t.test('threads in front present the current certificate, and refuse one without its key', async (test) => {
  const [one, two] = [await tlsFiles(test, 'one'), await tlsFiles(test, 'two')]
  const listener = await listenInFront(test, () => ok('1'), one.tls)
  test.equal(await shownAt(listener.port), one.fingerprint)
  const takeBack = await listener.present(two.tls)
  test.equal(await shownAt(listener.port), two.fingerprint)
  takeBack()
  test.equal(await shownAt(listener.port), one.fingerprint)
  await test.rejects(listener.present({ ...two.tls, keyFile: one.tls.keyFile }))
  test.equal(await shownAt(listener.port), one.fingerprint)
})
