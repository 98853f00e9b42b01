import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import t from 'tap'
import { API_PREFIX } from '../../src/http/pipeline.ts'
import { concrete, endpoints } from './attack-fixture.ts'
import { listeningFixture } from './raw-fixture.ts'

/** Public documents, which a cache may store if it revalidates them. */
const KEPT = new Set(['documents.openapi', 'documents.page', 'documents.file', 'config.schema'])
/** Anything that names a program or its version. */
const TELLING = /^(server|x-powered-by|via|uwebsockets|x-aspnet-version)$/i

t.test('headers: no answer of any endpoint may be stored, read as another type, or names a program', async (test) => {
  const { ports, node, token } = await listeningFixture(test)
  const asked = async (method: string, path: string, sent: Readonly<Record<string, string>>) => {
    const options = { host: '127.0.0.1', port: ports.tls, method, path, headers: sent, rejectUnauthorized: false }
    const outgoing = request({ ...options, agent: false }).end()
    // A stream never ends, so the test waits only for its head; a stream without events does not send even that.
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    answer.destroy()
    return answer
  }
  let seen = 0
  for (const { name, method, path, produces } of endpoints) {
    const values = name === 'documents.file' ? 'start.js' : 'unknown-1'
    const url = `${API_PREFIX}${concrete(path, node, values)}`
    const callers = method === 'GET' ? [token, ''] : ['', 'nonsense']
    for (const caller of callers) {
      const isStream = produces.includes('text/event-stream')
      const sent = caller === '' ? {} : { authorization: `Bearer ${caller}` }
      const { headers, statusCode } = await asked(method, isStream ? `${url}?after=0` : url, sent)
      const what = `${method} ${path} ${statusCode}`
      const wanted = KEPT.has(name) && (statusCode ?? 0) < 400 ? 'no-cache' : 'no-store'
      if (headers['cache-control'] !== wanted) test.fail(`${what}: ${String(headers['cache-control'])}`)
      if (headers['x-content-type-options'] !== 'nosniff') test.fail(`${what}: nosniff`)
      if (headers['strict-transport-security'] !== 'max-age=31536000') test.fail(`${what}: HSTS`)
      const telling = Object.keys(headers).filter((header) => TELLING.test(header))
      if (telling.length > 0) test.fail(`${what}: ${telling.join()}`)
      seen += 1
    }
  }
  test.equal(seen, 2 * endpoints.length)
})
