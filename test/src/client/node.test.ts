import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { OtherCertificate, pinnedFetch } from '../../../src/client/node.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

t.test('one certificate is accepted, whoever has signed it, and nothing is sent to another one', async (test) => {
  const { cert, key } = certificateMaker(test).pair({ name: 'appliance.test' })
  const seen: string[] = []
  const server = createServer({ cert, key }, (request, answer) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      seen.push(`${request.method} ${request.url} ${String(request.headers['x-one'])} ${body}`)
      if (request.url === '/cut') return answer.destroy()
      answer.writeHead(request.url === '/none' ? 204 : 201, { etag: '"1"' })
      return answer.end(request.url === '/none' ? undefined : 'answered')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const fetch = pinnedFetch(new X509Certificate(cert).fingerprint256.toLowerCase())
  const headers = { 'x-one': 'a' }
  const answer = await fetch(new Request(`${base}/x?q=1`, { method: 'POST', body: '{"ü":1}', headers }))
  test.match({ status: answer.status, etag: answer.headers.get('etag') }, { status: 201, etag: '"1"' })
  test.equal(await answer.text(), 'answered')
  test.equal((await fetch(new Request(`${base}/none`, { headers }))).status, 204)
  await test.rejects(fetch(new Request(`${base}/cut`, { headers })), TypeError)
  test.same(seen, ['POST /x?q=1 a {"ü":1}', 'GET /none a ', 'GET /cut a '])

  const other = pinnedFetch(Array(32).fill('00').join(':'))
  await test.rejects(other(new Request(`${base}/x`, { method: 'POST', body: 'secret' })), OtherCertificate)
  test.equal(seen.length, 3)
  const ending = new AbortController()
  ending.abort()
  await test.rejects(fetch(new Request(`${base}/x`, { signal: ending.signal })))
})

t.test('a connection is closed before the daemon ends it for lack of requests', async (test) => {
  const { cert, key } = certificateMaker(test).pair({ name: 'appliance.test' })
  const server = createServer({ cert, key, keepAliveTimeout: 0 }, (_, answer) => answer.end('answered'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => server.close())
  const fetch = pinnedFetch(new X509Certificate(cert).fingerprint256)
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const connected = once(server, 'secureConnection')
  await (await fetch(new Request(url))).text()
  const [socket] = await connected
  const ended = once(socket, 'close')
  await (await fetch(new Request(url))).text()
  await ended
  test.pass('by the client, as the server never would')
})
