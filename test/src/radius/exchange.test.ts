import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { askServer, type Patience } from '../../../src/radius/exchange.ts'
import { CODE } from '../../../src/radius/packet.ts'
import { answerTo, closedHost, type Handler, radiusServer, SECRET } from '../../simulators/radius-server.ts'

const QUESTION = { name: 'nemo', password: 'arctangent', protocol: 'PAP', nasIdentifier: 'lb' } as const
const PATIENCE: Patience = { attempt_ms: 150, attempts: 2, budget_ms: 10_000, requireMessageAuthenticator: true }
/** Long enough for any answer on its way. */
const PATIENT = { ...PATIENCE, attempt_ms: 60_000, budget_ms: 60_000 }
/** Long enough for answers that end nothing. */
const SEVERAL = { attempts: 8 }

async function asked(test: Test, handle: Handler, patience: Partial<Patience> = {}, address = '127.0.0.1') {
  const { port, requests } = await radiusServer(test, handle, address)
  const ending = await askServer(QUESTION, { address, port, secret: SECRET }, { ...PATIENCE, ...patience })
  return { ending, requests }
}

t.test('accepted, rejected and challenged', async (test) => {
  const attributes = [{ type: 25, value: Buffer.from('ops') }]
  const accepted = await asked(test, (request, reply) => reply(answerTo(request, { attributes })), PATIENT)
  test.match(accepted.ending, { outcome: 'accepted', attributes: [{ type: 25 }, { type: 80 }] })
  const said = [{ type: 18, value: Buffer.from('come back\n\u001b[31mlater') }]
  const rejected = await asked(
    test,
    (request, reply) => reply(answerTo(request, { code: CODE.accessReject, attributes: said })),
    PATIENT,
  )
  test.match(rejected.ending, { outcome: 'refused', why: /refuses the name or the password: “come back \[31mlater”$/ })
  const challenged = await asked(
    test,
    (request, reply) => reply(answerTo(request, { code: CODE.accessChallenge })),
    PATIENT,
  )
  test.match(challenged.ending, { outcome: 'refused', why: /Access-Challenge/ })
})

t.test('a request is repeated unchanged, from the same port, until its attempts are over', async (test) => {
  const ports = new Set<number>()
  const { ending, requests } = await asked(test, (_request, _reply, from) => ports.add(from.port), { attempts: 3 })
  test.same(ending, { outcome: 'silent' })
  test.equal(requests.length, 3)
  test.same(requests[0], requests[2])
  test.equal(ports.size, 1)
})

t.test('an answer to the second sending counts', async (test) => {
  let count = 0
  const { ending } = await asked(
    test,
    (request, reply) => {
      count += 1
      if (count === 2) reply(answerTo(request))
      // A slow machine needs more than one of these attempts for the way back.
    },
    { attempts: 100 },
  )
  test.match(ending, { outcome: 'accepted' })
})

t.test('the time for all attempts is limited', async (test) => {
  const { ending, requests } = await asked(test, () => undefined, { attempts: 1000, attempt_ms: 100, budget_ms: 250 })
  test.same(ending, { outcome: 'silent' })
  test.ok(requests.length <= 3, `${requests.length} sent`)
})

t.test('each request has another port, another authenticator, and its Message-Authenticator first', async (test) => {
  const ports = new Set<number>()
  const handle: Handler = (request, reply, from) => {
    ports.add(from.port)
    reply(answerTo(request))
  }
  const { port, requests } = await radiusServer(test, handle)
  const target = { address: '127.0.0.1', port, secret: SECRET }
  await Promise.all(Array.from({ length: 20 }, () => askServer(QUESTION, target, PATIENT)))
  test.equal(ports.size, 20)
  test.equal(new Set(requests.map((request) => request.toString('hex', 4, 20))).size, 20)
  test.ok(requests.every((request) => request[20] === 80 && request[21] === 18))
})

const FORGERIES: Readonly<Record<string, (request: Buffer) => Uint8Array>> = {
  'another identifier': (request) => answerTo(request, { identifier: ((request[1] ?? 0) + 1) % 256 }),
  'another secret': (request) => answerTo(request, { secret: 'guessed' }),
  'another code': (request) => answerTo(request, { code: 5 }),
  'no Message-Authenticator': (request) => answerTo(request, { messageAuthenticator: 'none' }),
  truncated: (request) => answerTo(request).subarray(0, 30),
  empty: () => Buffer.alloc(0),
  'one byte': () => Buffer.of(2),
  'a false length': (request) => {
    const bytes = answerTo(request)
    bytes.writeUInt16BE(4000, 2)
    return bytes
  },
  'an attribute of length 0': (request) => {
    const bytes = answerTo(request, {
      attributes: [{ type: 25, value: Buffer.from('x') }],
      messageAuthenticator: 'last',
    })
    bytes.writeUInt8(0, 21)
    return bytes
  },
  'more than 4096 bytes': (request) => {
    const bytes = Buffer.concat([answerTo(request), Buffer.alloc(5000)])
    bytes.writeUInt16BE(bytes.length, 2)
    return bytes
  },
  'the request itself': (request) => request,
  'a flipped bit': (request) => {
    const bytes = answerTo(request)
    bytes[30] = (bytes[30] ?? 0) ^ 1
    return bytes
  },
}

for (const [title, forge] of Object.entries(FORGERIES)) {
  t.test(`forged answers are ignored, and the true one after them counts: ${title}`, async (test) => {
    const { ending } = await asked(
      test,
      (request, reply) => {
        for (let count = 0; count < 50; count += 1) reply(forge(request))
        reply(answerTo(request, { code: CODE.accessReject }))
      },
      PATIENT,
    )
    test.match(ending, { outcome: 'refused' })
  })
}

t.test('an answer from another port or address is ignored', async (test) => {
  const others = [createSocket('udp4').bind(0, '127.0.0.1'), createSocket('udp4').bind(0, '127.0.0.2')]
  await Promise.all(others.map((socket) => once(socket, 'listening')))
  test.teardown(() => others.forEach((socket) => socket.close()))
  const { ending } = await asked(test, (request, _reply, from) => {
    for (const socket of others) socket.send(answerTo(request), from.port, from.address)
  })
  test.same(ending, { outcome: 'silent' })
})

t.test('an answer that is late, or repeated, is dropped', async (test) => {
  const answers: (() => void)[] = []
  const { port, requests } = await radiusServer(test, (request, reply) => answers.push(() => reply(answerTo(request))))
  const target = { address: '127.0.0.1', port, secret: SECRET }
  test.same(await askServer(QUESTION, target, { ...PATIENCE, attempts: 1 }), { outcome: 'silent' })
  answers.forEach((answer) => answer())
  const next = askServer(QUESTION, target, PATIENCE)
  answers.forEach((answer) => answer())
  test.same(await next, { outcome: 'silent' })
  test.ok(requests.length >= 3)
})

t.test('the fault of answers is reported: another secret, or no Message-Authenticator', async (test) => {
  const forged = await asked(test, (request, reply) => reply(answerTo(request, { secret: 'guessed' })), SEVERAL)
  test.same(forged.ending, { outcome: 'forged' })
  const unprotected = await asked(
    test,
    (request, reply) => reply(answerTo(request, { messageAuthenticator: 'none' })),
    SEVERAL,
  )
  test.same(unprotected.ending, { outcome: 'unprotected' })
})

t.test('answers without Message-Authenticator count where they are allowed; wrong ones never do', async (test) => {
  const allowed = { requireMessageAuthenticator: false }
  const without = (request: Buffer, reply: (bytes: Uint8Array) => void) =>
    reply(answerTo(request, { messageAuthenticator: 'none' }))
  test.match((await asked(test, without, { ...PATIENT, ...allowed })).ending, { outcome: 'accepted' })
  const wrong = { attributes: [{ type: 80, value: Buffer.alloc(16) }], messageAuthenticator: 'none' } as const
  const ended = await asked(test, (request, reply) => reply(answerTo(request, wrong)), { ...SEVERAL, ...allowed })
  test.same(ended.ending, { outcome: 'forged' })
})

t.test('a flood of forgeries does not keep the true answer out', async (test) => {
  const { ending } = await asked(
    test,
    (request, reply) => {
      const forged = answerTo(request, { secret: 'guessed' })
      let count = 0
      const burst = () => {
        for (let index = 0; index < 100; index += 1) reply(forged)
        count += 1
        if (count < 20) setImmediate(burst)
        else setTimeout(() => reply(answerTo(request)), 200)
      }
      burst()
    },
    PATIENT,
  )
  test.match(ending, { outcome: 'accepted' })
})

t.test('a closed port is reported at once', async (test) => {
  const { host, port } = await closedHost(test)
  const target = { address: host, port: port ?? 0, secret: SECRET }
  test.same(await askServer(QUESTION, target, PATIENT), { outcome: 'unreachable' })
})

t.test('a missing route to a server is no error', async (test) => {
  const target = { address: '255.255.255.255', port: 1812, secret: SECRET }
  test.same(await askServer(QUESTION, target, PATIENT), { outcome: 'unreachable' })
})

t.test('IPv6', async (test) => {
  const { ending, requests } = await asked(test, (request, reply) => reply(answerTo(request)), PATIENT, '::1')
  test.match(ending, { outcome: 'accepted' })
  const own = Buffer.concat([Buffer.of(95, 18), Buffer.alloc(15), Buffer.of(1)])
  test.ok(requests[0]?.includes(own), 'NAS-IPv6-Address')
})
