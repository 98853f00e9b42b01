import t, { type Test } from 'tap'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { output } from './tls-frontend.ts'

const { pair, record } = certificateMaker(t)
const certificate = record('www', pair({ name: 'www.test' }))

/** An application with its own cookies, one of which has nearly the same name. */
async function application(test: Test): Promise<number> {
  const cookies = ['app=1; Path=/', 'STAYING=2', 'X=STAY=3']
  return httpServer(test, (_, answer) => void answer.setHeader('Set-Cookie', cookies).end('ok'))
}

t.test('one backend with a TLS and a plain frontend: its cookie is Secure where possible', async (test) => {
  const { apply } = haproxyFixture(test)
  const [plain, tls] = [await freePort(), await freePort()]
  const view = viewOf({
    certificates: [certificate],
    realServers: [realServer('r1', { ip: '127.0.0.1', port: await application(test) })],
    l7Backends: [backend('b', ['r1'], { persistence: { type: 'cookie', cookieName: 'STAY' } })],
    l7Frontends: [
      frontend('plain', 'b', { ports: String(plain) }),
      frontend('tls', 'b', { ports: String(tls), certificates: ['www'] }),
    ],
  })
  test.match(await apply(undefined, view), { ok: true })
  const cookies = async (...argv: readonly string[]) => {
    const text = await output('curl', '-sik', ...argv)
    test.match(text, /^HTTP\/\S+ 200/, text)
    return [...text.matchAll(/^set-cookie: (.*)\r$/gim)].map(([, cookie]) => cookie)
  }
  const own = ['app=1; Path=/', 'STAYING=2', 'X=STAY=3']
  const stay = 'STAY=r1; path=/; HttpOnly; SameSite=Lax'
  test.same(await cookies(`http://127.0.0.1:${plain}/`), [...own, stay])
  for (const version of ['--http1.1', '--http2']) {
    test.same(await cookies(version, `https://127.0.0.1:${tls}/`), [...own, `${stay}; Secure`], version)
  }
  test.same(await cookies('-b', 'STAY=r1', `https://127.0.0.1:${tls}/`), own, 'a client that has it gets it no more')
})
