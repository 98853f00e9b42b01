import { once } from 'node:events'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { ApiError } from '../../../../src/base/errors.ts'
import { VERSION } from '../../../../src/base/version.ts'
import { LEVEL } from '../../../../src/cluster/levels.ts'
import { pinOfRequest } from '../../../../src/cluster/authority.ts'
import { JoinToken, parseJoinAddress } from '../../../../src/cluster/join-token.ts'
import { JoinError } from '../../../../src/peers/joining/join-error.ts'
import { encodeMessage } from '../../../../src/peers/joining/messages.ts'
import { Probed } from '../../../../src/peers/joining/probe.ts'
import { ASKED_MAX } from '../../../../src/peers/joining/protocol.ts'
import { CLUSTER_ID } from '../../../fixtures/cluster-authority.ts'
import {
  answerTo,
  askingOf,
  type AskingParts,
  JoinableCluster,
  type Joiner,
  listened,
  newJoiner,
  stranger,
} from '../../../fixtures/joining.ts'
import { get, rawSession } from '../../../fixtures/peers.ts'
import { untilHolds } from '../../../fixtures/until.ts'

const joiner = await newJoiner()

/** The joiner listens on its address. */
async function probed(test: Test, { application, joinerId, shownKey: key }: Joiner = joiner): Promise<void> {
  const at = parseJoinAddress(application.address) ?? { host: '', port: 0 }
  const opened = await Probed.open({ at, joinerId, key, request: application.clientRequest, now_ms: Date.now() })
  test.teardown(() => opened.close())
}

/** Returns a member's answer to this message on a separate connection. */
async function ask(test: Test, member: JoinableCluster, parts: AskingParts): Promise<unknown> {
  const socket = await stranger(test, member.server.port)
  return await answerTo(socket, askingOf(socket, parts))
}

/** Resolves when the other side has ended it, with the received bytes. */
async function ended(socket: TLSSocket): Promise<number> {
  let bytes = 0
  socket.on('data', (piece: Buffer) => (bytes += piece.length))
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return bytes
}

t.test('a preview shows the cluster, and uses up nothing', async (test) => {
  const member = await JoinableCluster.serve(test)
  const token = member.newToken()
  const before = await member.tokens.kept(token.id)
  const seen = {
    clusterId: CLUSTER_ID,
    name: 'Test',
    version: VERSION,
    nodes: [{ id: 'lb2', name: 'Load balancer 2', address: '127.0.0.1:9444' }],
  }
  test.match(await ask(test, member, { joiner, token }), {
    welcome: { ...seen, reachable: false, why: 'the connection was refused, or there is no route to it' },
    proof: /^[\w-]{43}$/,
  })
  await probed(test)
  test.match(await ask(test, member, { joiner, token }), { welcome: { ...seen, reachable: true, why: undefined } })
  test.same(await member.tokens.kept(token.id), before)
  test.same(member.admitted, [])
})

t.test('a joining node is admitted, as what the token is for', async (test) => {
  const member = await JoinableCluster.serve(test)
  const token = member.newToken()
  await probed(test)
  const parts = { joiner, token, intent: 'join', application: { records: { a: [1] } } }
  test.match(await ask(test, member, parts), { welcome: { letIn: 'lb3' }, proof: /^[\w-]{43}$/ })
  const kept = await member.tokens.kept(token.id)
  const { clientRequest, peerRequest } = joiner.application
  const usedWith = `${await pinOfRequest(peerRequest)}.${await pinOfRequest(clientRequest)}`
  test.match(kept, { usedBy: 'lb3', usedWith })
  test.match(member.admitted, [
    { joinerId: 'lb3', token: kept, application: { records: { a: [1] }, version: VERSION } },
  ])
})

t.test('each refusal has a code and a next step, and leaves the token as it was', async (test) => {
  const nodes = [{ id: 'old', name: 'Old', address: '127.0.0.1:1' }]
  const member = await JoinableCluster.serve(test, { cluster: () => ({ clusterId: CLUSTER_ID, name: 'Test', nodes }) })
  const [token, other] = [member.newToken(), member.newToken()]
  const expired = member.newToken([1], Date.now() - 3_600_000)
  const unknown = JoinToken.create(token.pin, ['127.0.0.1:1'])
  const refusals: readonly (readonly [code: string, step: RegExp, parts: Partial<AskingParts>])[] = [
    ['OTHER_PROTOCOL', /protocol 2, but the cluster uses 1; install/, { protocol: 2, proof: undefined }],
    ['TOKEN_UNKNOWN', /create another one/, { token: unknown }],
    ['TOKEN_EXPIRED', /valid until .*create another one/, { token: expired }],
    ['WRONG_PROOF', /copy the token again/, { proof: 'AAAA' }],
    ['WRONG_PROOF', /copy the token again/, { tokenId: other.id }],
    ['WRONG_PROOF', /copy the token again/, { session: { memberId: 'lb1' } }],
    ['WRONG_PROOF', /copy the token again/, { session: { joinerId: 'another' } }],
    ['WRONG_PROOF', /copy the token again/, { session: { exported: Buffer.alloc(32) } }],
    ['WRONG_PROOF', /copy the token again/, { token: expired, proof: 'AAAA' }],
    ['INVALID_APPLICATION', /HOST:PORT/, { application: { address: '127.0.0.1' } }],
    ['INVALID_APPLICATION', /PKCS#10/, { application: { clientRequest: 'x' } }],
    ['OTHER_VERSION', /Fulcrum 99\.0\.0, .*same version/, { application: { version: '99.0.0' } }],
    ['OTHER_VERSION', /earlier Fulcrum .*update it/, { application: { level: LEVEL - 1 } }],
    ['CLOCK_SKEW', /behind .*set it, or use NTP/, { application: { now_ms: Date.now() - 70_000 } }],
    ['ALREADY_MEMBER', /remove it first/, { joiner: { ...joiner, joinerId: 'old' } }],
    ['ADDRESS_UNREACHABLE', /127\.0\.0\.1:\d+: the connection was refused.*open that port/, {}],
  ]
  for (const [code, message, parts] of refusals) {
    const answer = await ask(test, member, { joiner, token, intent: 'join', ...parts })
    test.match(answer, { refusal: { code, message } }, code)
    test.notOk((answer as { readonly welcome?: unknown }).welcome)
  }
  test.match(await ask(test, member, { joiner, token: expired, application: { version: '99.0.0' } }), {
    refusal: { code: 'TOKEN_EXPIRED' },
  })
  for (const one of [token, other, expired]) test.notOk((await member.tokens.kept(one.id))?.usedBy)
  test.same(member.admitted, [])
})

t.test('a node that would not be admitted learns that in a preview, and keeps its token', async (test) => {
  const vet = () => {
    throw new ApiError('NAME_NOT_UNIQUE', 'lb1 has the name lb3')
  }
  const member = await JoinableCluster.serve(test, { vet })
  const token = member.newToken()
  await probed(test)
  for (const intent of ['look', 'join'] as const) {
    const answer = await ask(test, member, { joiner, token, intent })
    test.match(answer, { refusal: { code: 'REFUSED', message: 'lb1 has the name lb3' } })
  }
  test.notOk((await member.tokens.kept(token.id))?.usedBy)
  test.same(member.admitted, [])
})

t.test('no refusal and no line of the log reveals a secret', async (test) => {
  const { log, lines } = listened()
  const member = await JoinableCluster.serve(test, { log })
  const token = member.newToken()
  const [, , secret = ''] = token.toText().split('.')
  await probed(test)
  const answers = [await ask(test, member, { joiner, token, proof: secret })]
  answers.push(await ask(test, member, { joiner, token }), await ask(test, member, { joiner, token, intent: 'join' }))
  await untilHolds(() => lines.length >= 3)
  const said = JSON.stringify([answers, lines])
  const kept = await member.tokens.kept(token.id)
  for (const hidden of [secret, kept?.memberKey ?? '', kept?.joinerKeyHash ?? '']) {
    test.equal(hidden.length, 43)
    test.notOk(said.includes(hidden))
  }
})

t.test('the same node may come again, another one may not', async (test) => {
  const nodes = [{ id: 'lb2', name: 'Load balancer 2', address: '127.0.0.1:1' }]
  const member = await JoinableCluster.serve(test, { cluster: () => ({ clusterId: CLUSTER_ID, name: 'Test', nodes }) })
  const token = member.newToken()
  await probed(test)
  const first = await ask(test, member, { joiner, token, intent: 'join' })
  // It is a member by now, and asks for the answer that it has not received.
  nodes.push({ id: 'lb3', name: 'Load balancer 3', address: joiner.application.address })
  const again = await ask(test, member, { joiner, token, intent: 'join' })
  test.match([first, again], [{ welcome: { letIn: 'lb3' } }, { welcome: { letIn: 'lb3' } }])
  test.equal(member.admitted.length, 2)
  const used = { refusal: { code: 'TOKEN_USED', message: /lb3 has already used.*create another/ } }
  const [other, sameName] = [await newJoiner('lb4'), await newJoiner('lb3')]
  for (const one of [other, sameName]) {
    test.match(await ask(test, member, { joiner: one, token, intent: 'join' }), used)
    test.match(await ask(test, member, { joiner: one, token }), used)
  }
  test.equal(member.admitted.length, 2)
})

t.test('of two nodes with one token, at the same time, one is admitted', async (test) => {
  const member = await JoinableCluster.serve(test)
  const token = member.newToken()
  const other = await newJoiner('lb4')
  await probed(test)
  await probed(test, other)
  const answers = await Promise.all(
    [joiner, other].map((one) => ask(test, member, { joiner: one, token, intent: 'join' })),
  )
  test.equal(answers.filter((answer) => JSON.stringify(answer).includes('TOKEN_USED')).length, 1)
  test.equal(member.admitted.length, 1)
})

t.test('refusals of the cluster are passed on, and of a defect only its existence', async (test) => {
  const { log, lines } = listened()
  const failures: readonly unknown[] = [
    new JoinError('ALREADY_MEMBER', 'There are five nodes'),
    new ApiError('NO_QUORUM', 'Too few nodes answer'),
    new ApiError('NO_QUORUM', 'x'.repeat(2_000)),
    undefined,
    new Error('inside out'),
    'x'.repeat(9 * 1024 * 1024),
  ]
  let at = 0
  const member = await JoinableCluster.serve(test, {
    log,
    admit: async () => {
      const failure = failures[at++]
      if (failure instanceof Error) throw failure
      return failure
    },
  })
  const token = member.newToken()
  await probed(test)
  const failed = { refusal: { code: 'REFUSED', message: 'The member failed to accept the node; see its log' } }
  const expected = [
    { refusal: { code: 'ALREADY_MEMBER', message: 'There are five nodes' } },
    { refusal: { code: 'REFUSED', message: 'Too few nodes answer' } },
    { refusal: { code: 'REFUSED', message: 'x'.repeat(1_024) } },
    { welcome: null },
    failed,
    failed,
  ]
  for (const answer of expected) test.match(await ask(test, member, { joiner, token, intent: 'join' }), answer)
  test.match(lines.join('\n'), /inside out[^]*has 9437\d+ bytes/)
})

t.test('anything but a message ends the connection silently', async (test) => {
  const member = await JoinableCluster.serve(test)
  const token = member.newToken()
  const wrong: readonly ((socket: TLSSocket) => Uint8Array)[] = [
    () => Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    () => encodeMessage('x'.repeat(ASKED_MAX)),
    () => encodeMessage(null),
    () => encodeMessage({ protocol: '1' }),
    () => encodeMessage({ protocol: 1 }),
    (socket) => encodeMessage(askingOf(socket, { joiner, token, intent: 'leave' })),
    (socket) => encodeMessage(askingOf(socket, { joiner: { ...joiner, joinerId: 'a/b' }, token })),
    (socket) => encodeMessage({ ...askingOf(socket, { joiner, token }), proof: undefined }),
  ]
  for (const [at, bytesOf] of wrong.entries()) {
    const socket = await stranger(test, member.server.port)
    socket.write(bytesOf(socket))
    test.equal(await ended(socket), 0, `case ${at}`)
  }
  await untilHolds(() => member.server.connections === 0)
})

t.test('a client that sends its bytes slowly, or none, is cut off', async (test) => {
  const member = await JoinableCluster.serve(test, { bounds: { prove_ms: 50 } })
  const [silent, slow] = [await stranger(test, member.server.port), await stranger(test, member.server.port)]
  const bytes = encodeMessage('x'.repeat(60_000))
  let sent = 0
  const drip = setInterval(() => slow.write(bytes.subarray(sent, (sent += 1))), 1)
  test.same(await Promise.all([ended(silent), ended(slow)]), [0, 0])
  clearInterval(drip)
  test.ok(sent < bytes.length)
  await untilHolds(() => member.server.connections === 0)
})

t.test('strangers are limited in number, and the last one is heard', async (test) => {
  const member = await JoinableCluster.serve(test, { bounds: { strangers_max: 2 } })
  const token = member.newToken()
  const silent: TLSSocket[] = []
  for (let count = 0; count < 5; count += 1) silent.push(await stranger(test, member.server.port))
  await Promise.all(silent.slice(0, 3).map(ended))
  await untilHolds(() => member.server.connections === 2)
  test.match(await ask(test, member, { joiner, token }), { welcome: { reachable: false } })
})

t.test('a proven node takes no place of strangers, and has few of its own', async (test) => {
  let goOn: () => void = () => undefined
  const waits = new Promise<void>((resolve) => (goOn = resolve))
  let entered = 0
  const member = await JoinableCluster.serve(test, {
    bounds: { strangers_max: 1, proven_max: 2 },
    admit: async () => {
      entered += 1
      await waits
      return 'in'
    },
  })
  await probed(test)
  const joining: Promise<unknown>[] = []
  for (let count = 1; count <= 2; count += 1) {
    joining.push(ask(test, member, { joiner, token: member.newToken(), intent: 'join' }))
    await untilHolds(() => entered === count)
  }
  const token = member.newToken()
  test.match(await ask(test, member, { joiner, token }), { refusal: { code: 'BUSY', message: /try again/ } })
  const silent = await stranger(test, member.server.port)
  await stranger(test, member.server.port)
  await ended(silent)
  goOn()
  test.match(await Promise.all(joining), [{ welcome: 'in' }, { welcome: 'in' }])
  await untilHolds(() => member.server.connections === 1)
  test.match(await ask(test, member, { joiner, token }), { welcome: { reachable: true } })
})

t.test('an answer that is not read is given up', async (test) => {
  const member = await JoinableCluster.serve(test, {
    // A node that reads its answer has to finish within it, on a busy machine as well.
    bounds: { answer_ms: 2_000, proven_max: 1 },
    admit: async () => 'x'.repeat(8_000_000),
  })
  const token = member.newToken()
  await probed(test)
  const socket = await stranger(test, member.server.port)
  socket.pause()
  socket.write(encodeMessage(askingOf(socket, { joiner, token, intent: 'join' })))
  await untilHolds(() => member.server.connections === 1)
  await untilHolds(() => member.server.connections === 0)
  test.match(await ask(test, member, { joiner, token }), { welcome: { reachable: true } }, 'its place is free')
})

t.test('a hundred strangers at once delay no member', async (test) => {
  const member = await JoinableCluster.serve(test)
  const { cluster, server } = member
  const client = cluster.client(test, server.port)
  test.equal((await client.forward(get('/a'))).status, 204)
  const strangers = Array.from({ length: 100 }, () => {
    const options = { host: '127.0.0.1', port: server.port, ALPNProtocols: ['fulcrum-join/1'] }
    const socket = connectTls({ ...options, rejectUnauthorized: false })
    test.teardown(() => socket.destroy())
    return socket.on('error', () => undefined).resume()
  })
  for (let count = 0; count < 50; count += 1) test.equal((await client.forward(get('/a'))).status, 204)
  await untilHolds(() => strangers.filter(({ closed }) => closed).length === 96)
  await untilHolds(() => server.connections === 5)
  test.equal((await client.forward(get('/a'))).status, 204)
  test.ok(client.livenessOf('lb2').isReachable)
  test.match(await ask(test, member, { joiner, token: member.newToken() }), { welcome: { reachable: false } })
})

t.test('a joining node has no session of members: not by protocol, not by a resumed session', async (test) => {
  const member = await JoinableCluster.serve(test)
  const { cluster, server } = member
  const socket = await stranger(test, server.port)
  let ticket: Buffer | undefined
  socket.on('session', (session) => (ticket = session))
  socket.write(encodeMessage(askingOf(socket, { joiner, token: member.newToken() })))
  await ended(socket)
  const { ca } = cluster.lb1.credentials
  for (const ALPNProtocols of [['h2'], ['h2', 'fulcrum-join/1'], ['fulcrum-join/1', 'h2']]) {
    const session = ticket ?? socket.getSession()
    const again = connectTls({
      host: '127.0.0.1',
      port: server.port,
      ca,
      ALPNProtocols,
      ...(session && { session }),
      checkServerIdentity: () => undefined,
    })
    again.on('error', () => undefined)
    again.on('secureConnect', () => {
      test.equal(again.alpnProtocol, 'h2')
      test.notOk(again.isSessionReused())
    })
    test.equal(await ended(again), 0, ALPNProtocols.join())
  }
  const session = rawSession(test, cluster.lb1.credentials, server.port)
  await once(session, 'remoteSettings')
})
