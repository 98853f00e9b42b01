import { once } from 'node:events'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { pinOfRequest } from '../../../../src/cluster/authority.ts'
import { parseJoinAddress } from '../../../../src/cluster/join-token.ts'
import { probe, Probed } from '../../../../src/peers/joining/probe.ts'
import { newAuthority } from '../../../fixtures/cluster-authority.ts'
import { type Joiner, newJoiner, portOf } from '../../../fixtures/joining.ts'
import { NEVER_MS, testNode } from '../../../fixtures/peers.ts'

const joiner = await newJoiner()
const pin = await pinOfRequest(joiner.application.clientRequest)

const addressOf = ({ application }: Joiner) => parseJoinAddress(application.address) ?? { host: '', port: 0 }

async function probed(test: Test, key = joiner.shownKey) {
  const { joinerId, application } = joiner
  const at = addressOf(joiner)
  const opened = await Probed.open({ at, joinerId, request: application.clientRequest, key, now_ms: Date.now() })
  test.teardown(() => opened.close())
  return at
}

/** A listener; returns its address, and all bytes that it received. */
async function listening(test: Test, answer: (socket: Socket) => void) {
  return { host: '127.0.0.1', port: await portOf(test, createServer(answer)) }
}

t.test('the holder of the key is reachable, as often as it is checked', async (test) => {
  const at = await probed(test)
  for (let time = 0; time < 3; time += 1) test.same(await probe(at, pin, NEVER_MS), { reachable: true })
})

t.test('nothing listens', async (test) => {
  const found = await probe(addressOf(await newJoiner()), pin, NEVER_MS)
  test.same(found, { reachable: false, why: 'the connection was refused, or there is no route to it' })
})

t.test('a silent listener is given up', async (test) => {
  const at = await listening(test, () => undefined)
  test.same(await probe(at, pin, 20), { reachable: false, why: 'the connection timed out' })
})

t.test('somebody else: another key, another protocol, a service of any kind', async (test) => {
  const other = { reachable: false, why: 'another program answers there' }
  test.same(
    await probe(await probed(test), await pinOfRequest((await newJoiner()).application.peerRequest), 60_000),
    other,
  )
  test.same(await probe(await listening(test, (socket) => socket.end('220 mail\r\n')), pin, NEVER_MS), other)
  test.same(await probe(await listening(test, (socket) => socket.destroy()), pin, NEVER_MS), other)
  const { credentials, pin: ofNode } = await testNode(await newAuthority(), 'lb1')
  const server = createTlsServer({ key: credentials.key, cert: credentials.certificate, ALPNProtocols: ['h2'] })
  const at = await listening(test, (socket) => server.emit('connection', socket))
  test.same(await probe(at, ofNode, NEVER_MS), other, 'the right key in another protocol')
  const mute = createTlsServer({ key: credentials.key, cert: credentials.certificate })
  const silent = await listening(test, (socket) => mute.emit('connection', socket))
  test.same(await probe(silent, ofNode, NEVER_MS), other, 'the right key in none')
})

t.test('a joiner is not affected by connections, and closes while they are open', async (test) => {
  const { joinerId, application, shownKey: key } = await newJoiner()
  const at = parseJoinAddress(application.address) ?? { host: '', port: 0 }
  const opened = await Probed.open({ at, joinerId, request: application.clientRequest, key, now_ms: Date.now() })
  const garbage = connectTcp(at).on('error', () => undefined)
  garbage.write('GET / HTTP/1.1\r\n\r\n')
  await once(garbage, 'close')
  const h2 = connectTls({ ...at, ALPNProtocols: ['h2'], rejectUnauthorized: false })
  const [error] = (await once(h2, 'error')) as [Error & { readonly code: string }]
  test.match(error.code, /NO_APPLICATION_PROTOCOL/)
  const silent = connectTcp(at).on('error', () => undefined)
  await once(silent, 'connect')
  const closed = once(silent, 'close')
  silent.resume()
  test.same(await probe(at, await pinOfRequest(application.clientRequest), NEVER_MS), { reachable: true })
  await opened.close()
  await closed
  await test.rejects(Probed.open({ at, joinerId, request: 'x', key, now_ms: Date.now() }), { name: 'CertificateError' })
})

t.test('an address in use cannot be opened', async (test) => {
  const { application, joinerId, shownKey: key } = joiner
  const at = await listening(test, () => undefined)
  const opening = Probed.open({ at, joinerId, request: application.clientRequest, key, now_ms: Date.now() })
  await test.rejects(opening, { code: 'EADDRINUSE' })
})
