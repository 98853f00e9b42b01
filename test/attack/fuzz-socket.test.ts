import { Agent, request } from 'node:https'
import t from 'tap'
import { assertDescribed } from '../fixtures/described.ts'
import type { Caller, Received } from '../fixtures/appliance.ts'
import { answering, described, faultOf, fuzzed, isSlow, samplesOf } from './fuzz-fixture.ts'
import { listeningFixture } from './raw-fixture.ts'
import { Dice, requestFor } from './request-maker.ts'

/** FULCRUM_ATTACK_SOCKET_REQUESTS=100000 in the long run. */
const REQUESTS = Number(process.env['FULCRUM_ATTACK_SOCKET_REQUESTS'] ?? 500)
const SEED = Number(process.env['FULCRUM_ATTACK_SEED'] ?? 20_261_120)
const AT_ONCE = 16

/** Sends requests over TLS, on persistent connections. */
function socketCaller(port: number, token: string): { readonly call: Caller; readonly close: () => void } {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: AT_ONCE })
  const call: Caller = (method, path, sent = {}) =>
    new Promise((resolve, reject) => {
      const body = sent.raw === undefined ? undefined : Buffer.from(sent.raw)
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
      }
      const options = { host: '127.0.0.1', port, method, path: `/api/v1${path}`, headers, agent }
      const outgoing = request(options, (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const received = Object.fromEntries(
            Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
          )
          const isJson = received['content-type']?.startsWith('application/json') === true && text !== ''
          const answer: Received = {
            status: incoming.statusCode ?? 0,
            headers: received,
            text,
            json: isJson ? JSON.parse(text) : undefined,
          }
          const { status } = answer
          const contentType = body === undefined ? '' : 'application/json'
          try {
            // uWebSockets.js itself refuses requests that are longer than its limit.
            if (status !== 431)
              assertDescribed({
                method,
                path,
                body: body?.toString() ?? '',
                contentType,
                status,
                headers: received,
                text,
              })
            resolve(answer)
          } catch (error) {
            reject(error)
          }
        })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  return { call, close: () => agent.destroy() }
}

t.test(`fuzz: ${REQUESTS} requests over TLS, ${AT_ONCE} at once: each is answered (seed ${SEED})`, async (test) => {
  test.setTimeout(0)
  const { node, token, ports, call: inside } = await listeningFixture(test)
  const { call, close } = socketCaller(ports.tls, token)
  test.teardown(close)
  const dice = new Dice(SEED)
  const samples = await samplesOf(inside, node)
  // A logout would end the test, and limits of concurrent requests are not its subject.
  const asked = fuzzed.filter(
    (endpoint) => !isSlow(endpoint) && !/^(auth\.logout|sessions\.end|account)/.test(endpoint.name),
  )
  const faults: string[] = []
  for (let n = 0; n < REQUESTS && faults.length < 10; n += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, () => dice.of(asked)).map((endpoint) => ({
      endpoint,
      made: requestFor(endpoint, dice, samples),
    }))
    const found = await Promise.all(
      batch.map(async ({ endpoint, made }) => {
        const answer = await call(made.method, made.path, made.raw === undefined ? {} : { raw: made.raw })
        // uWebSockets.js itself refuses requests that are longer than its limit.
        if (answer.status === 431) return []
        const fault = faultOf(answering(endpoint, made), answer)
        return fault === undefined ? [] : [`${described(made)}: ${fault}`]
      }),
    )
    faults.push(...found.flat())
  }
  test.same(faults, [])
  test.equal((await call('GET', '/services')).status, 200)
})
