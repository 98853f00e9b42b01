import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { deliver } from '../../../workers/alerts.ts'
import { alertMessage, isSigned, sendingTo, webhookReceiver } from '../../fixtures/alert-targets.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const KEY = 'shared with the receiver'

t.test('a post is signed, and has the configured headers', async (test) => {
  const own = certificateMaker(test).pair({ name: 'localhost' })
  const receiver = await webhookReceiver(test, own)
  const headers = [{ name: 'X-Room', value: 'of secrets' }]
  const target = {
    type: 'webhook',
    url: receiver.url('/hook?a=b'),
    caCertificate: own.cert,
    secret: KEY,
    headers,
  } as const
  const messages = [alertMessage(), alertMessage({ id: 'message-2' })]
  test.same(await deliver(sendingTo({ ...target, headers }, messages)), { taken: 2, failure: undefined })
  const [first, second] = receiver.posts
  if (first === undefined || second === undefined) return test.fail()
  test.equal(first.path, '/hook?a=b')
  test.match(first.headers, { 'webhook-id': 'message-1', 'x-room': 'of secrets', host: /^localhost:/ })
  test.ok(isSigned(first, KEY) && isSigned(second, KEY))
  test.notOk(isSigned({ ...first, body: first.body.replace('down', 'up') }, KEY))
  test.match(JSON.parse(first.body), { type: 'fulcrum.alert', ...messages[0] })
  const base64 = `whsec_${Buffer.from(KEY).toString('base64')}`
  await deliver(sendingTo({ ...target, headers, secret: base64 }))
  test.ok(isSigned(receiver.posts[2] ?? first, KEY), 'as in libraries for Standard Webhooks')
  return undefined
})

t.test('a receiver is reached at an IPv6 address, if its certificate names that', async (test) => {
  const { pair } = certificateMaker(test)
  for (const [names, taken] of [
    ['IP:::1', 1],
    ['IP:::2', 0],
  ] as const) {
    const own = pair({ name: 'receiver', names })
    const server = createServer(own, (_, response) => void response.end())
    server.listen(0, '::1')
    test.teardown(() => server.close())
    await once(server, 'listening')
    const url = `https://[::1]:${(server.address() as AddressInfo).port}/`
    test.match(await deliver(sendingTo({ type: 'webhook', url, caCertificate: own.cert })), { taken }, names)
  }
})

t.test('the answer decides whether and when it is retried', async (test) => {
  const own = certificateMaker(test).pair({ name: 'localhost' })
  const answers: readonly (readonly [number, Record<string, string>, string])[] = [
    [500, {}, 'oh\r\n\u001b[31mno'],
    [429, { 'retry-after': '120' }, ''],
    [503, { 'retry-after': new Date(Date.now() + 90_000).toUTCString() }, ''],
    [403, {}, ''],
    [302, { location: 'https://evil.test/' }, ''],
    [400, {}, 'invalid_payload'],
  ]
  const receiver = await webhookReceiver(test, own, (response, _, count) => {
    const [status = 200, headers = {}, text = ''] = answers[count - 1] ?? []
    response.writeHead(status, headers).end(text)
  })
  const sending = sendingTo({ type: 'webhook', url: receiver.url(), caCertificate: own.cert })
  test.same(await deliver(sending), { taken: 0, failure: { stage: 'send', reason: 'The answer is 500: oh [31mno' } })
  test.match(await deliver(sending), { failure: { retryAfter_s: 120 } })
  const { failure } = await deliver(sending)
  test.ok((failure?.retryAfter_s ?? 0) > 80 && (failure?.retryAfter_s ?? 0) <= 90)
  test.match(await deliver(sending), { failure: { stage: 'authenticate' } })
  test.match(await deliver(sending), { failure: { stage: 'send', reason: /redirects are not followed/ } })
  test.match(await deliver(sending), { failure: { isFinal: true, reason: 'The answer is 400: invalid_payload' } })
  test.equal(receiver.posts.length, answers.length, 'no other was asked')
})

t.test("a server's echo of secrets is never shown", async (test) => {
  const own = certificateMaker(test).pair({ name: 'localhost' })
  const receiver = await webhookReceiver(test, own, (response, { path, headers }) => {
    const padding = 'x'.repeat(180)
    response.writeHead(404).end(`${padding}Cannot POST ${path} with ${String(headers['x-key'])}, nor ${path.slice(7)}`)
  })
  const url = receiver.url('/hooks/T0123456/B%20and%20secrets?key=geheim-4711')
  const headers = [{ name: 'X-Key', value: 'Bearer open-sesame' }]
  const { failure } = await deliver(sendingTo({ type: 'webhook', url, caCertificate: own.cert, headers }))
  test.match(failure?.reason, /^The answer is 404: x+Cannot POST \*\* with \*\*, nor \*\*\/\*\*\?key=\*\*$/)
  const gone = await deliver(sendingTo({ type: 'webhook', url: url.replace('localhost', 'no-such-host.invalid') }))
  test.notMatch(JSON.stringify(gone), /T0123456|geheim/)
})

t.test('a server that is missing, hangs up or is another one is reported as such', async (test) => {
  const { pair } = certificateMaker(test)
  const own = pair({ name: 'localhost' })
  const receiver = await webhookReceiver(test, own, (response) => void response.destroy())
  const target = { type: 'webhook', url: receiver.url(), caCertificate: own.cert } as const
  test.match(await deliver(sendingTo(target)), { failure: { stage: 'connect', reason: /hang up|reset/ } })
  const other = await deliver(sendingTo({ ...target, caCertificate: pair({ name: 'localhost' }).cert }))
  test.match(other, { failure: { stage: 'connect', reason: /certificate|signature/ } })
  const stranger = await webhookReceiver(test, pair({ name: 'stranger.test', own }))
  const named = { ...target, url: stranger.url(), caCertificate: pair({ name: 'stranger.test', own }).cert }
  test.match(await deliver(sendingTo(named)), { taken: 0, failure: { stage: 'connect' } })
  await receiver.close()
  test.match(await deliver(sendingTo(target)), { failure: { stage: 'connect', reason: /ECONNREFUSED/ } })
})
