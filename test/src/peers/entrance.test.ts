import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect, type ConnectionOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { newAuthority } from '../../fixtures/cluster-authority.ts'
import { NEVER_MS, TestCluster, testNode } from '../../fixtures/peers.ts'
import { untilHolds } from '../../fixtures/until.ts'
import { createLog } from '../../../src/base/log.ts'
import { Entrance, type EntranceBounds, type EntranceParts } from '../../../src/peers/entrance.ts'
import { JOIN_PROTOCOL, type PeerCredentials } from '../../../src/peers/peer-tls.ts'

const cluster = await TestCluster.make()

interface Opened {
  readonly entrance: Entrance
  readonly port: number
  /** Nodes that were admitted. */
  readonly entered: (string | undefined)[]
  readonly told: string[]
}

async function open(test: Test, bounds: Partial<EntranceBounds> = {}, join?: EntranceParts['join']) {
  const { credentials } = cluster.lb2
  const [entered, told]: [(string | undefined)[], string[]] = [[], []]
  const entrance = new Entrance({
    credentials,
    bounds: { arriving_max: 100, eachAddress_max: 100, handshake_ms: NEVER_MS, ...bounds },
    enter: (socket) => entered.push(socket.getPeerX509Certificate()?.subject),
    join,
    standing: undefined,
    log: createLog((line) => told.push(line)),
  })
  const port = await entrance.listen({ host: '127.0.0.1', port: 0 })
  test.teardown(() => entrance.close())
  return { entrance, port, entered, told } satisfies Opened
}

const shown = ({ key, certificate, ca }: PeerCredentials): ConnectionOptions => ({
  key,
  cert: certificate,
  ca,
  ALPNProtocols: ['h2'],
  checkServerIdentity: () => undefined,
})

/** Returns the number of bytes that arrived until the connection ended. */
async function heardBy(socket: Socket): Promise<number> {
  let bytes = 0
  socket.on('data', (piece) => (bytes += piece.length))
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('close', resolve))
  return bytes
}

t.test('a client with a certificate of the cluster is admitted', async (test) => {
  const { port, entered, entrance } = await open(test)
  const socket = connect({ ...shown(cluster.lb1.credentials), host: '127.0.0.1', port })
  await once(socket, 'secureConnect')
  await untilHolds(() => entered.length === 1)
  test.match(entered[0], /OU=lb1/)
  test.equal(entrance.open, 1)
  socket.destroy()
  await untilHolds(() => entrance.open === 0)
})

t.test('no other client gets a byte, and nothing of it stays', async (test) => {
  const stranger = await testNode(await newAuthority(), 'lb1')
  const { key, certificate } = stranger.credentials
  const { ca } = cluster.lb1.credentials
  const ways: Readonly<Record<string, ConnectionOptions>> = {
    'without a certificate': { ca },
    'with that of another cluster': { key, cert: certificate, ca },
    'in TLS 1.2': { ...shown(cluster.lb1.credentials), maxVersion: 'TLSv1.2' },
    'in HTTP/1.1': { ...shown(cluster.lb1.credentials), ALPNProtocols: ['http/1.1'] },
    'in no protocol': { ...shown(cluster.lb1.credentials), ALPNProtocols: [] },
  }
  const { port, entered, entrance, told } = await open(test)
  for (const [way, options] of Object.entries(ways)) {
    const socket = connect({
      ALPNProtocols: ['h2'],
      checkServerIdentity: () => undefined,
      ...options,
      host: '127.0.0.1',
      port,
    })
    test.equal(await heardBy(socket), 0, way)
  }
  const plain = connectTcp({ host: '127.0.0.1', port })
  plain.write('GET / HTTP/1.1\r\n\r\n')
  // A TLS alert, for a client without TLS.
  test.ok((await heardBy(plain)) <= 7)
  await untilHolds(() => entrance.open === 0)
  test.same(entered, [])
  test.match(told.join(''), /an unknown connection at the peer port/)
})

t.test('a revoked certificate is invalid, from the next connection on', async (test) => {
  const { authority, lb1, lb2 } = cluster
  const { port, entered, entrance } = await open(test)
  const first = connect({ ...shown(lb1.credentials), host: '127.0.0.1', port })
  await untilHolds(() => entered.length === 1)
  const { serial } = readNodeCertificate(lb1.credentials.certificate)
  const crls = [await authority.revocationList([{ serial, at_ms: Date.now() }], 1)]
  entrance.present({ ...lb2.credentials, crls })
  test.equal(await heardBy(connect({ ...shown(lb1.credentials), host: '127.0.0.1', port })), 0)
  test.equal(entered.length, 1)
  first.destroy()
})

t.test('no TLS session is resumed: it would show no certificate', async (test) => {
  const { port, entered } = await open(test)
  const first = connect({ ...shown(cluster.lb1.credentials), host: '127.0.0.1', port })
  let session: Buffer | undefined
  first.on('session', (ticket) => (session = ticket))
  await untilHolds(() => entered.length === 1)
  const second = connect({
    ...shown(cluster.lb1.credentials),
    host: '127.0.0.1',
    port,
    session: session ?? first.getSession(),
  })
  await untilHolds(() => entered.length === 2)
  test.notOk(second.isSessionReused())
  first.destroy()
  second.destroy()
})

t.test('one address has a limited number of connections', async (test) => {
  const { port, entrance } = await open(test, { eachAddress_max: 3 })
  const held = Array.from({ length: 3 }, () => connectTcp({ host: '127.0.0.1', port }))
  await untilHolds(() => entrance.open === 3)
  test.equal(await heardBy(connectTcp({ host: '127.0.0.1', port })), 0)
  test.equal(entrance.open, 3)
  held[0]?.destroy()
  await untilHolds(() => entrance.open === 2)
  held.push(connectTcp({ host: '127.0.0.1', port }))
  await untilHolds(() => entrance.open === 3)
  for (const socket of held) socket.destroy()
})

t.test('a new client pushes out one that has not authenticated, and a node is admitted', async (test) => {
  const { port, entrance, entered } = await open(test, { arriving_max: 2 })
  const silent = Array.from({ length: 20 }, () => connectTcp({ host: '127.0.0.1', port }))
  for (const socket of silent) socket.on('error', () => undefined).resume()
  await untilHolds(() => entrance.open === 2 && silent.filter(({ closed }) => closed).length === 18)
  const node = connect({ ...shown(cluster.lb1.credentials), host: '127.0.0.1', port })
  await untilHolds(() => entered.length === 1)
  test.equal(entrance.open, 2, 'the node, and one that has not authenticated')
  for (const socket of [...silent, node]) socket.destroy()
})

t.test('a silent client is cut off', async (test) => {
  const { port, entrance } = await open(test, { handshake_ms: 20 })
  test.equal(await heardBy(connectTcp({ host: '127.0.0.1', port })), 0)
  await untilHolds(() => entrance.open === 0)
})

t.test('a joining node is admitted without a certificate, where that is wanted, and to nothing else', async (test) => {
  const joining: Socket[] = []
  const { ca } = cluster.lb1.credentials
  const wish: ConnectionOptions = {
    host: '127.0.0.1',
    ca,
    ALPNProtocols: [JOIN_PROTOCOL],
    checkServerIdentity: () => undefined,
  }
  const wanted = await open(test, { arriving_max: 1 }, (socket) => joining.push(socket))
  const revoked = connect({
    ...wish,
    ...shown(cluster.lb1.credentials),
    ALPNProtocols: [JOIN_PROTOCOL],
    port: wanted.port,
  })
  await untilHolds(() => joining.length === 1)
  const socket = connect({ ...wish, port: wanted.port })
  await untilHolds(() => joining.length === 2)
  test.equal(wanted.entrance.open, 2, 'neither is unauthenticated any more')
  test.equal(socket.alpnProtocol, JOIN_PROTOCOL)
  const issuer = socket.getPeerX509Certificate()?.issuerCertificate
  test.equal(issuer?.toString(), cluster.authority.certificate, 'the whole chain is presented')
  test.equal(await heardBy(connect({ ...wish, ALPNProtocols: ['h2', JOIN_PROTOCOL], port: wanted.port })), 0)
  test.equal(await heardBy(connect({ ...wish, ALPNProtocols: ['h2'], port: wanted.port })), 0)
  test.same(wanted.entered, [])
  test.equal(joining.length, 2)
  for (const one of [revoked, socket]) one.destroy()

  const closed = await open(test)
  const refused = connect({ ...wish, port: closed.port })
  const [error] = (await once(refused, 'error')) as [Error & { readonly code: string }]
  test.match(error.code, /ALERT_NO_APPLICATION_PROTOCOL/)
  test.match(closed.told.join(''), /NO_.*PROTOCOL/i)
})

t.test('a port in use cannot be opened', async (test) => {
  const { port } = await open(test)
  const other = new Entrance({
    credentials: cluster.lb2.credentials,
    bounds: { arriving_max: 1, eachAddress_max: 1, handshake_ms: NEVER_MS },
    enter: () => undefined,
    join: undefined,
    standing: undefined,
    log: createLog(() => undefined),
  })
  await test.rejects(other.listen({ host: '127.0.0.1', port }), { code: 'EADDRINUSE' })
})
