import { once } from 'node:events'
import { connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { defer } from '../../../../src/base/deferred.ts'
import { VERSION } from '../../../../src/base/version.ts'
import { JoinToken } from '../../../../src/cluster/join-token.ts'
import type { JoinError } from '../../../../src/peers/joining/join-error.ts'
import { encodeMessage } from '../../../../src/peers/joining/messages.ts'
import type { PeerCredentials } from '../../../../src/peers/peer-tls.ts'
import { CLUSTER_ID, newAuthority } from '../../../fixtures/cluster-authority.ts'
import { clientOf, JoinableCluster, newJoiner, portOf } from '../../../fixtures/joining.ts'
import { lineTo, NEVER_MS, testNode } from '../../../fixtures/peers.ts'
import { untilHolds } from '../../../fixtures/until.ts'
import { freePort } from '../../../fixtures/traffic.ts'

const HOUR_MS = 3_600_000
const joiner = await newJoiner()

/** Returns its refusal. */
async function refusalOf(asking: Promise<unknown>): Promise<Pick<JoinError, 'name' | 'code' | 'message'>> {
  return await asking.then(
    () => ({ name: 'JoinError', code: 'REFUSED', message: 'it was let in' }),
    (error: JoinError) => error,
  )
}

/** A TLS server that presents these certificates; returns its port. */
async function listening(
  test: Test,
  { key, certificate, ca }: PeerCredentials,
  answer: (socket: TLSSocket) => void,
  ALPNProtocols = ['fulcrum-join/1'],
): Promise<number> {
  const server = createServer({ key, cert: `${certificate}${ca}`, ALPNProtocols }, (socket) =>
    answer(socket.on('error', () => undefined)),
  )
  return await portOf(test, server)
}

/** Terminates TLS, and relays everything to a member, in a separate session. */
async function manInTheMiddle(test: Test, shown: PeerCredentials, port: number): Promise<number> {
  return await listening(test, shown, (near) => {
    const far = connect({ host: '127.0.0.1', port, ALPNProtocols: ['fulcrum-join/1'], rejectUnauthorized: false })
    far.on('error', () => undefined)
    near.pipe(far).pipe(near)
    near.once('close', () => far.destroy())
  })
}

t.test('a node looks, joins, and learns which member admitted it', async (test) => {
  const member = await JoinableCluster.serve(test)
  const token = member.newToken()
  const client = clientOf(joiner, token)
  const by = {
    memberId: 'lb2',
    address: `127.0.0.1:${member.server.port}`,
    authority: member.cluster.authority.certificate,
    unanswered: [],
  }
  const welcome = { clusterId: CLUSTER_ID, name: 'Test', version: VERSION, reachable: true }
  test.match(await client.look(), { ...by, welcome })
  test.notOk((await member.tokens.kept(token.id))?.usedBy)
  test.same(await client.join(), { ...by, welcome: { letIn: 'lb3' } })
  test.same(await client.join(), { ...by, welcome: { letIn: 'lb3' } }, 'asked again')
  test.equal(member.admitted.length, 2)
  await untilHolds(() => member.server.connections === 0)
})

t.test('an answer may have megabytes', async (test) => {
  const text = 'x'.repeat(8_000_000)
  const member = await JoinableCluster.serve(test, { admit: async () => text })
  test.equal((await clientOf(joiner, member.newToken()).join()).welcome, text)
})

t.test('addresses are tried in turn, with the reasons of those that did not answer', async (test) => {
  const member = await JoinableCluster.serve(test)
  const closed = await freePort()
  const foreign = await listening(test, (await testNode(await newAuthority(), 'lb1')).credentials, () => undefined)
  const { credentials } = member.cluster.lb1
  const without = await listening(test, credentials, () => undefined, ['h2'])
  const inNone = await listening(test, credentials, () => undefined, [])
  const broken = await listening(test, credentials, (socket) => socket.destroy())
  const token = member.newToken([closed, foreign, without, inNone, broken, member.server.port, closed])
  for (const answer of [await clientOf(joiner, token).look(), await clientOf(joiner, token).join()]) {
    test.equal(answer.address, `127.0.0.1:${member.server.port}`)
    test.match(answer.unanswered, [
      { address: `127.0.0.1:${closed}`, why: 'it refuses connections' },
      { address: `127.0.0.1:${foreign}`, why: 'the server there is not part of the cluster that issued the token' },
      { address: `127.0.0.1:${without}`, why: 'it accepts no nodes' },
      { address: `127.0.0.1:${inNone}`, why: 'it accepts no nodes' },
      { address: `127.0.0.1:${broken}`, why: /^its answer was lost/ },
    ])
    test.equal(answer.unanswered.length, 5)
  }
})

t.test('a member that does not listen yet is asked again, for a while', async (test) => {
  const member = await JoinableCluster.serve(test)
  const later = await freePort()
  const relay = createTcpServer((socket) => {
    const there = connectTcp(member.server.port, '127.0.0.1')
    for (const [from, to] of [
      [socket, there],
      [there, socket],
    ] as const)
      from.on('error', () => to.destroy()).pipe(to)
  })
  test.teardown(() => relay.close())
  const asked = clientOf(joiner, member.newToken([later]), { patience: { start_ms: 60_000 } }).look()
  setTimeout(() => relay.listen(later, '127.0.0.1'), 100)
  test.equal((await asked).address, `127.0.0.1:${later}`)
  const never = clientOf(joiner, member.newToken([await freePort()]), { patience: { start_ms: 300 } })
  test.match(await refusalOf(never.look()), { code: 'UNREACHABLE', message: /it refuses connections/ })
})

t.test('a member that does not expect joining nodes admits none', async (test) => {
  const member = await JoinableCluster.serve(test)
  const { cluster } = member
  const closed = await cluster.serve(test, () => ({ status: 204, headers: {} }))
  test.match(await refusalOf(clientOf(joiner, member.newToken([closed.port])).look()), {
    name: 'JoinError',
    code: 'UNREACHABLE',
    message: `No member of the cluster can be reached; check addresses and firewalls, or create a new token (127.0.0.1:${closed.port}: it accepts no nodes)`,
  })
})

t.test('a silent member, or one that accepts nothing, is given up', async (test) => {
  const member = await JoinableCluster.serve(test)
  const tcp = createTcpServer((socket) => void socket.on('error', () => undefined).resume())
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  test.teardown(() => tcp.close())
  const address = tcp.address()
  const mute = typeof address === 'object' && address !== null ? address.port : 0
  test.match(await refusalOf(clientOf(joiner, member.newToken([mute]), { patience: { connect_ms: 20 } }).join()), {
    code: 'UNREACHABLE',
    message: /it accepted no connection within 20 ms/,
  })
  const silent = await listening(test, member.cluster.lb1.credentials, () => undefined)
  const asked = clientOf(joiner, member.newToken([silent]), { patience: { answer_ms: 20 } })
  test.match(await refusalOf(asked.look()), { code: 'UNREACHABLE', message: /its answer was lost/ })
  test.match(await refusalOf(asked.join()), {
    code: 'LOST',
    message: /It is unknown .*; try again with the same token/,
  })
})

t.test('a busy member is no refusal of the cluster', async (test) => {
  const busy = await JoinableCluster.serve(test, { bounds: { proven_max: 0 } })
  const { port } = busy.server
  test.match(await refusalOf(clientOf(joiner, busy.newToken([port, port])).join()), {
    code: 'BUSY',
    message: /try again in a minute \(127\.0\.0\.1:\d+: it is busy; /,
  })
})

t.test("a member's refusal is passed on literally", async (test) => {
  const member = await JoinableCluster.serve(test, { clock: { now_ms: () => Date.now() + 120_000 } })
  const [token, unknown] = [member.newToken(), JoinToken.create(member.cluster.authority.pin, ['127.0.0.1:1'])]
  test.match(await refusalOf(clientOf(joiner, token).join()), {
    name: 'JoinError',
    code: 'CLOCK_SKEW',
    message: /^The clock of the node is 1\d\d s behind that of the cluster; set it, or use NTP$/,
  })
  const elsewhere = JoinToken.parse(unknown.toText().replace(/127\.0\.0\.1:1$/, `127.0.0.1:${member.server.port}`))
  test.equal((await refusalOf(clientOf(joiner, elsewhere).look())).code, 'TOKEN_UNKNOWN')
  const later = await listening(test, member.cluster.lb1.credentials, (socket) => {
    socket.end(encodeMessage({ refusal: { code: 'OF_A_LATER_VERSION', message: 'Do something' } }))
  })
  const [refused, garbage] = [await refusalOf(clientOf(joiner, member.newToken([later])).join()), { a: 1 }]
  test.match(refused, { code: 'REFUSED', message: 'Do something' })
  const odd = await listening(test, member.cluster.lb1.credentials, (socket) => socket.end(encodeMessage(garbage)))
  test.equal((await refusalOf(clientOf(joiner, member.newToken([odd])).join())).code, 'OTHER_PROTOCOL')
})

t.test('after a member that cannot admit nodes the next one is asked', async (test) => {
  const member = await JoinableCluster.serve(test)
  const refusing = async (code: string, message: string) =>
    await listening(test, member.cluster.lb1.credentials, (socket) =>
      socket.end(encodeMessage({ refusal: { code, message } })),
    )
  const [alone, behind] = [
    await refusing('REFUSED', 'Too few nodes answer'),
    await refusing('TOKEN_UNKNOWN', 'The cluster has no such token'),
  ]
  const token = member.newToken([behind, alone, member.server.port])
  test.match(await clientOf(joiner, token).join(), {
    welcome: { letIn: 'lb3' },
    unanswered: [{ why: 'The cluster has no such token' }, { why: 'Too few nodes answer' }],
  })
  const closed = await freePort()
  const nowhere = await refusalOf(clientOf(joiner, member.newToken([closed, behind, alone])).join())
  test.match(nowhere, { code: 'REFUSED', message: /^Too few nodes answer$/ })
  test.equal((await refusalOf(clientOf(joiner, member.newToken([closed, behind])).join())).code, 'TOKEN_UNKNOWN')
})

t.test('its own address has to be valid, and free', async (test) => {
  const member = await JoinableCluster.serve(test)
  const at = (address: string) => ({ ...joiner, application: { ...joiner.application, address } })
  const token = member.newToken()
  test.match(await refusalOf(clientOf(at('lb3'), token).look()), { code: 'INVALID_APPLICATION', message: /HOST:PORT/ })
  test.match(await refusalOf(clientOf(at(`127.0.0.1:${member.server.port}`), token).look()), {
    code: 'ADDRESS_UNREACHABLE',
    message: /cannot listen at 127\.0\.0\.1:\d+ \(EADDRINUSE\); free that port/,
  })
})

t.test('behind a forwarded port it listens elsewhere, and another machine in its place is detected', async (test) => {
  const member = await JoinableCluster.serve(test)
  const listen = { host: '127.0.0.1', port: await freePort() }
  const line = await lineTo(test, listen.port)
  const forwarded = { ...joiner, application: { ...joiner.application, address: `127.0.0.1:${line.port}` } }
  const token = member.newToken()
  test.match((await clientOf(forwarded, token, { listen }).look()).welcome, { reachable: true })
  const wrong = await lineTo(test, member.server.port)
  const misled = { ...joiner, application: { ...joiner.application, address: `127.0.0.1:${wrong.port}` } }
  const client = clientOf(misled, token, { listen })
  test.match((await client.look()).welcome, { reachable: false, why: 'another program answers there' })
  test.match(await refusalOf(client.join()), { code: 'ADDRESS_UNREACHABLE', message: /another program answers there/ })
  test.notOk((await member.tokens.kept(token.id))?.usedBy)
})

t.test('another cluster is recognised by its pin, and receives nothing', async (test) => {
  const heard: unknown[] = []
  const { credentials } = await testNode(await newAuthority(), 'lb2')
  const port = await listening(test, credentials, (socket) => socket.on('data', (piece) => heard.push(piece)))
  const member = await JoinableCluster.serve(test)
  const client = clientOf(joiner, member.newToken([port]))
  for (const ask of [() => client.look(), () => client.join()]) {
    test.match(await refusalOf(ask()), {
      code: 'WRONG_PIN',
      message: /do not belong to the cluster that issued it; create a new token/,
    })
  }
  test.same(heard, [])
})

t.test('a clock that invalidates certificates is distinguished from a wrong pin', async (test) => {
  const member = await JoinableCluster.serve(test)
  for (const [hours, message] of [
    [10, /The clock of the node is \d+ s behind/],
    [9_000, /The clock of this node is wrong.*valid from .* GMT to .* GMT, not at .* GMT/],
  ] as const) {
    const clock = { now_ms: () => Date.now() - hours * HOUR_MS }
    const refusal = await refusalOf(clientOf(joiner, member.newToken(), { clock }).join())
    test.match(refusal, { code: 'CLOCK_SKEW', message })
  }
})

t.test('a man in the middle with his own certificate receives nothing', async (test) => {
  const member = await JoinableCluster.serve(test)
  const attacker = await testNode(await newAuthority(), 'lb2')
  const { ca } = member.cluster.lb2.credentials
  // The second presents the right authority beside a certificate of another.
  for (const credentials of [attacker.credentials, { ...attacker.credentials, ca }]) {
    const port = await manInTheMiddle(test, credentials, member.server.port)
    test.equal((await refusalOf(clientOf(joiner, member.newToken([port])).join())).code, 'WRONG_PIN')
  }
  test.same(member.admitted, [])
})

t.test('a man in the middle with the key of a member cannot relay proofs', async (test) => {
  const member = await JoinableCluster.serve(test)
  const { lb1, lb2 } = member.cluster
  // Another node of the cluster, and, as the worst case, the key of the asked one itself.
  for (const { credentials } of [lb1, lb2]) {
    const port = await manInTheMiddle(test, credentials, member.server.port)
    const token = member.newToken([port])
    test.equal((await refusalOf(clientOf(joiner, token).join())).code, 'WRONG_PROOF')
    test.notOk((await member.tokens.kept(token.id))?.usedBy)
  }
  test.same(member.admitted, [])
})

t.test('a welcome from a node that does not know the token is not trusted', async (test) => {
  const member = await JoinableCluster.serve(test)
  for (const proof of ['A'.repeat(43), 'AAAA']) {
    const port = await listening(test, member.cluster.lb1.credentials, (socket) => {
      socket.end(encodeMessage({ proof, welcome: { letIn: 'lb3' } }))
    })
    const client = clientOf(joiner, member.newToken([port, member.server.port]))
    for (const ask of [() => client.look(), () => client.join()]) {
      test.match(await refusalOf(ask()), {
        code: 'WRONG_PROOF',
        message: /does not know the token; check what is between/,
      })
    }
  }
  test.same(member.admitted, [])
})

t.test('a connection that is cut before the token is used leaves it for any node', async (test) => {
  const [asked, goOn] = [defer(), defer()]
  const member = await JoinableCluster.serve(test)
  const token = member.newToken()
  const kept = member.tokens.kept.bind(member.tokens)
  member.tokens.kept = async (id) => {
    asked.resolve()
    await goOn.promise
    return await kept(id)
  }
  const line = await lineTo(test, member.server.port)
  const joining = refusalOf(clientOf(joiner, addressed(token, line.port)).join())
  await asked.promise
  line.cut()
  test.equal((await joining).code, 'LOST')
  await untilHolds(() => member.server.connections === 0)
  goOn.resolve()
  member.tokens.kept = kept
  test.notOk((await kept(token.id))?.usedBy)
  const other = await newJoiner('lb4')
  test.match(await clientOf(other, token).join(), { welcome: { letIn: 'lb4' } })
  test.equal(member.admitted.length, 1)
})

for (const when of ['while it is let in', 'while it is answered'] as const) {
  t.test(`a connection that is cut ${when}: the same node may come again, no other`, async (test) => {
    const [entered, goOn] = [defer(), defer()]
    let times = 0
    const member = await JoinableCluster.serve(test, {
      admit: async () => {
        times += 1
        if (times > 1) return 'in'
        entered.resolve()
        if (when === 'while it is let in') await goOn.promise
        return 'x'.repeat(7_000_000)
      },
    })
    const token = member.newToken()
    const line = await lineTo(test, member.server.port)
    const joining = refusalOf(clientOf(joiner, addressed(token, line.port)).join())
    await entered.promise
    line.cut()
    test.match(await joining, { code: 'LOST', message: /with the same token/ })
    goOn.resolve()
    test.equal((await member.tokens.kept(token.id))?.usedBy, 'lb3')
    const other = await newJoiner('lb4')
    test.equal((await refusalOf(clientOf(other, token).join())).code, 'TOKEN_USED')
    test.equal((await clientOf(joiner, token).join()).welcome, 'in')
    await untilHolds(() => member.server.connections === 0)
  })
}

t.test('after a member that is lost midway the next one is asked', async (test) => {
  const member = await JoinableCluster.serve(test)
  const line = await lineTo(test, member.server.port)
  const token = member.newToken([line.port, member.server.port])
  const use = member.tokens.use.bind(member.tokens)
  member.tokens.use = async (id, change) => {
    line.cut()
    return await use(id, change)
  }
  const answer = await clientOf(joiner, token, { patience: { answer_ms: NEVER_MS } }).join()
  test.match(answer, { welcome: { letIn: 'lb3' }, unanswered: [{ why: /^its answer was lost/ }] })
})

/** The token with another address in it. */
const addressed = (token: JoinToken, port: number) =>
  JoinToken.parse(token.toText().replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`))
