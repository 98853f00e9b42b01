import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { ApiError } from '../../../src/base/errors.ts'
import type { Incoming } from '../../../src/http/incoming.ts'
import { metricsOnly } from '../../../src/http/metrics-only.ts'

function asked(method: string, path: string, headers: Readonly<Record<string, string>> = {}): Incoming {
  return {
    method,
    path,
    query: '',
    address: '192.0.2.1',
    header: (name: string) => headers[name] ?? '',
    isAmbiguous: false,
    readBody: async () => undefined,
  }
}

t.test('figures, for every client, at either path; and nothing else', async (test) => {
  const accepted: string[] = []
  const handle = metricsOnly(
    {
      async answer(accept) {
        accepted.push(accept)
        return { body: Buffer.from('x'.repeat(2_000)), contentType: 'text/plain; version=0.0.4; charset=utf-8' }
      },
    },
    silentLog,
  )
  const plain = await handle(asked('GET', '/metrics', { accept: 'text/plain' }), '1')
  test.match(plain, { status: 200, contentType: /^text\/plain/ })
  test.equal(plain.body.length, 2_000)
  const packed = await handle(asked('GET', '/api/v1/metrics', { 'accept-encoding': 'gzip' }), '2')
  test.match(packed, { status: 200, headers: { 'Content-Encoding': 'gzip' } })
  test.equal((await handle(asked('HEAD', '/metrics'), '3')).status, 200)
  test.same(accepted, ['text/plain', '', ''])
  for (const path of ['/', '/api/v1/ping', '/api/v1/openapi.json', '/metrics/'])
    test.match(await handle(asked('GET', path), '4'), { status: 404, code: 'UNKNOWN_ENDPOINT' }, path)
  for (const method of ['POST', 'DELETE', 'OPTIONS'])
    test.match(await handle(asked(method, '/metrics'), '5'), { status: 405, headers: { Allow: 'GET' } }, method)
})

t.test('a defect only appears in the log', async (test) => {
  const failing = (error: Error) => metricsOnly({ answer: async () => await Promise.reject(error) }, silentLog)
  const answer = await failing(new Error('secret'))(asked('GET', '/metrics'), '1')
  test.match(answer, { status: 500, code: 'INTERNAL' })
  test.notMatch(String(answer.body), /secret/)
  const refused = await failing(new ApiError('NOT_FOUND', 'gone'))(asked('GET', '/metrics'), '1')
  test.equal(refused.status, 404)
})
