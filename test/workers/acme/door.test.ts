import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { askCa, type Door, doors, problemOf } from '../../../workers/acme/door.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const { pair } = certificateMaker(t)
const root = pair({ name: 'root.test', isCa: true })
const { cert, key } = pair({ name: 'ca.test', issuer: root, names: 'IP:127.0.0.1,DNS:localhost' })

async function ca(test: Pick<typeof t, 'teardown'>, answer: RequestListener) {
  const server = createServer({ cert, key }, answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const door: Door = { caCertificate: root.cert, allowsLoopback: true }
  const ask = (url: string, more: Partial<Door> = {}) =>
    doors.run(Object.assign(door, more), () => askCa({ method: 'POST', url, headers: { 'x-it': 'is' }, body: 'sent' }))
  return { port: (server.address() as AddressInfo).port, door, ask }
}

t.test("connects over TLS, and reads the CA's waiting times", async (test) => {
  const { port, door, ask } = await ca(test, (asked, answer) => {
    const heard = `${asked.method} ${String(asked.headers['x-it'])}`
    asked.once('data', (sent) => answer.writeHead(200, { 'retry-after': '17' }).end(`${heard} ${sent}`))
  })
  test.match(await ask(`https://127.0.0.1:${port}/`), { status: 200, text: 'POST is sent' })
  test.match(await ask(`https://localhost:${port}/`), { status: 200 })
  test.match(door, { status: 200, problem: undefined, retryAfter_s: 17 })
  await test.rejects(ask(`https://127.0.0.1:${port}/`, { caCertificate: undefined }), /unable to verify|self-signed/)
})

t.test(
  'goes nowhere else: not without TLS, not to what is no CA, whatever a name means, and after no redirect',
  async (test) => {
    let served = 0
    const { port, ask } = await ca(test, (_, answer) => {
      served += 1
      answer.writeHead(302, { location: 'https://169.254.169.254/' }).end()
    })
    test.match(await ask(`https://127.0.0.1:${port}/`), { status: 302 })
    test.equal(served, 1)
    await test.rejects(ask(`http://127.0.0.1:${port}/`), /is not https/)
    for (const host of ['169.254.169.254', '[fe80::1]', '0.0.0.0', '[::]'])
      await test.rejects(ask(`https://${host}:${port}/`), /which is not allowed for a CA/, host)
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]'])
      await test.rejects(
        ask(`https://${host}:${port}/`, { allowsLoopback: false }),
        /which is not allowed for a CA/,
        host,
      )
    test.equal(served, 1)
  },
)

t.test('endless answers are cut off', async (test) => {
  const { port, ask } = await ca(test, (_, answer) => answer.end(Buffer.alloc(1024 * 1024 + 1)))
  await test.rejects(ask(`https://127.0.0.1:${port}/`), /more than 1048576 bytes/)
})

t.test('problems are read as in RFC 7807', async (test) => {
  const { port, door, ask } = await ca(test, (_, answer) => {
    const retry = new Date(Date.now() + 3_600_000).toUTCString()
    const problem = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many' }
    answer.writeHead(429, { 'retry-after': retry }).end(JSON.stringify(problem))
  })
  await ask(`https://127.0.0.1:${port}/`)
  test.match(door, { status: 429, problem: 'rateLimited: too many' })
  test.ok((door.retryAfter_s ?? 0) > 3_500 && (door.retryAfter_s ?? 0) <= 3_600)
  const inner = { detail: 'a.test' }
  test.equal(problemOf(JSON.stringify({ type: 'x', detail: 'y', subproblems: [inner, 'z'] }), 400), 'x: y; a.test')
  for (const text of ['', '<html>', 'null', '[]', '{}']) test.equal(problemOf(text, 503), 'answer 503', text)
})
