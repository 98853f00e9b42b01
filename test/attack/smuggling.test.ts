import t from 'tap'
import { exchange, type Exchanged, type Kind, listeningFixture } from './raw-fixture.ts'
import { type Form, unclear } from './smuggling-forms.ts'

/** A request that must never be seen: an answer to it means that a body was read as a request. */
const HIDDEN = 'GET /api/v1/smuggled-request HTTP/1.1\r\nHost: h\r\n\r\n'
const GROUP = '{"id":"smuggled","name":"smuggled"}'
const hiddenGroup = (token: string) =>
  `POST /api/v1/rbac/groups HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${GROUP.length}\r\n\r\n${GROUP}`

function request({ headers, body }: Form, token: string, line = 'POST /api/v1/ipvsDirector/rips'): string {
  const more = ['Host: h', `Authorization: Bearer ${token}`, 'Content-Type: application/json', ...headers]
  return `${line} HTTP/1.1\r\n${more.map((header) => `${header}\r\n`).join('')}\r\n${body}`
}

/** Returns the forbidden result; undefined when there is none. */
function fault({ statuses, text }: Exchanged): string | undefined {
  if (statuses.length > 1) return `${statuses.length} answers`
  if (statuses.some((status) => status >= 500 && status !== 505)) return 'an error of ours'
  if (text.includes('UNKNOWN_ENDPOINT')) return 'the body was read as a request'
  return statuses.some((status) => status < 400) ? 'served' : undefined
}

async function faults<T>(
  items: readonly T[],
  work: (item: T) => Promise<string | undefined>,
): Promise<readonly string[]> {
  const found: string[] = []
  for (let from = 0; from < items.length; from += 24) {
    const some = await Promise.all(items.slice(from, from + 24).map(work))
    found.push(...some.filter((what) => what !== undefined))
  }
  return found
}

const PLACES = [
  { kind: 'plain', fronts: 0 },
  { kind: 'tls', fronts: 0 },
  { kind: 'plain', fronts: 2 },
] as const satisfies readonly { readonly kind: Kind; readonly fronts: number }[]

for (const { kind, fronts } of PLACES) {
  const place = fronts === 0 ? kind : `${kind}, with ${fronts} threads in front`
  t.test(
    `smuggling (${place}): a body whose end can be read in two ways is answered at most once, and is no request`,
    async (test) => {
      const { ports, token, call } = await listeningFixture(test, fronts)
      for (const smuggled of [HIDDEN, hiddenGroup(token)]) {
        const forms = unclear(smuggled)
        const wrong = await faults(forms, async (form) => {
          // Also after the body, at once and after a while.
          const bytes = smuggled === HIDDEN ? [request(form, token) + HIDDEN] : [request(form, token), HIDDEN]
          const exchanged = await exchange(kind, ports[kind], bytes)
          const what = fault(exchanged)
          return what === undefined ? undefined : `${form.name}: ${what} [${exchanged.statuses.join()}]`
        })
        test.same(wrong, [], `${forms.length} forms`)
      }
      test.notMatch((await call('GET', '/rbac/groups')).text, /smuggled/)
    },
  )

  t.test(
    `smuggling (${place}): a body after a reading request is refused, whatever states its length`,
    async (test) => {
      const { ports, token } = await listeningFixture(test, fronts)
      const forms = [
        { name: 'length', headers: [`Content-Length: ${HIDDEN.length}`], body: HIDDEN },
        { name: 'chunks', headers: ['Transfer-Encoding: chunked'], body: `0\r\n\r\n${HIDDEN}` },
      ]
      for (const form of forms)
        for (const line of ['GET /api/v1/ping', 'HEAD /api/v1/ping', 'GET /api/v1/services']) {
          const { statuses } = await exchange(kind, ports[kind], [request(form, token, line), HIDDEN])
          // HEAD cannot express it, chunks end the connection, and with threads in front more data may do so.
          const isTold = form.name === 'length' && !line.startsWith('HEAD')
          const isCutOff = fronts > 0 && statuses.length === 0
          test.same(statuses, isTold && !isCutOff ? [400] : [], `${form.name}, ${line}`)
        }
    },
  )

  t.test(`smuggling (${place}): well-formed requests are answered once each, in their order`, async (test) => {
    const { ports, token } = await listeningFixture(test, fronts)
    const get = (path: string) => `GET /api/v1${path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\n\r\n`
    const paths = Array.from({ length: 50 }, (_, n) => (n % 3 === 0 ? '/ping' : n % 3 === 1 ? '/services' : '/nowhere'))
    const { statuses } = await exchange(kind, ports[kind], [paths.map(get).join('')], paths.length)
    const all = paths.map((path) => (path === '/nowhere' ? 404 : 200))
    // With threads in front, a connection ends when more data arrives before an answer.
    test.same(statuses, fronts === 0 ? all : all.slice(0, statuses.length), 'pipelined')
    for (const length of ['2', ' 2', '2 ', '\t2', '002']) {
      const form = { name: '', headers: [`Content-Length: ${length}`], body: '{}' }
      const { statuses: one } = await exchange(kind, ports[kind], [request(form, token)], 1)
      test.same(one, [422], `length ${JSON.stringify(length)}`)
    }
    for (const [line, status] of [
      ['1', 422],
      ['1;x=y', 400],
    ] as const) {
      const body = `1\r\n{\r\n${line}\r\n}\r\n0\r\n\r\n`
      const chunked = { name: '', headers: ['Transfer-Encoding: chunked'], body }
      test.same((await exchange(kind, ports[kind], [request(chunked, token)], 1)).statuses, [status], 'no extensions')
    }
  })

  t.test(`junk (${place}): what is no request is refused or ends the connection; the daemon stays up`, async (test) => {
    const { ports, token } = await listeningFixture(test, fronts)
    const head = 'Host: h\r\n'
    const many = Array.from({ length: 101 }, (_, n) => `X-${n}: y\r\n`).join('')
    const junk = [
      'GET\r\n\r\n',
      'GET /api/v1/services\r\n\r\n',
      `GET  /api/v1/services HTTP/1.1\r\n${head}\r\n`,
      `GET /api/v1/services HTTP/0.9\r\n${head}\r\n`,
      `GET /api/v1/services HTTP/2.0\r\n${head}\r\n`,
      `GET /api/v1/services HTTP/1.1 HTTP/1.1\r\n${head}\r\n`,
      `GET /api/v1/services\tHTTP/1.1\r\n${head}\r\n`,
      `get /api/v1/services HTTP/1.1\r\n${head}\r\n`,
      `G\u0000T /api/v1/services HTTP/1.1\r\n${head}\r\n`,
      `GET https://h/api/v1/services HTTP/1.1\r\n${head}\r\n`,
      `GET api/v1/services HTTP/1.1\r\n${head}\r\n`,
      `GET * HTTP/1.1\r\n${head}\r\n`,
      `CONNECT 127.0.0.1:22 HTTP/1.1\r\n${head}\r\n`,
      `GET /api/v1/services HTTP/1.1\r\n\r\n`,
      `GET /api/v1/services HTTP/1.1\r\n${head}${head}\r\n`,
      `GET /api/v1/services HTTP/1.1\r\n${head}${many}\r\n`,
      `GET /api/v1/services HTTP/1.1\r\n${head}X: ${'y'.repeat(100_000)}\r\n\r\n`,
      `GET /api/v1/${'y'.repeat(100_000)} HTTP/1.1\r\n${head}\r\n`,
      `GET /api/v1/services?${'y'.repeat(100_000)} HTTP/1.1\r\n${head}\r\n`,
      `GET /api/v1/services HTTP/1.1\r\n${head}X y\r\n\r\n`,
      `GET /api/v1/services HTTP/1.1\r\n${head}: y\r\n\r\n`,
      `GET /api/v1/services HTTP/1.1\n${head}\n`,
      `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
      `GET /api/v1/events HTTP/1.1\r\n${head}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
      `GET /api/v1/services HTTP/1.1\r\n${head}Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n`,
      '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
      '\r\n'.repeat(10_000),
      '\u0000'.repeat(10_000),
      'a'.repeat(200_000),
      'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
    ]
    const wrong = await faults(junk, async (bytes) => {
      const { statuses } = await exchange(kind, ports[kind], [bytes])
      const isServed =
        statuses.length > 1 || statuses.some((status) => status < 400 || (status >= 500 && status !== 505))
      return isServed ? `${JSON.stringify(bytes.slice(0, 80))}: ${statuses.join()}` : undefined
    })
    test.same(wrong, [])
    const ok = `GET /api/v1/services HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\n\r\n`
    test.same((await exchange(kind, ports[kind], [ok], 1)).statuses, [200])
    const twice = ok.replace('Host', 'Authorization: Bearer x\r\nHost')
    test.same((await exchange(kind, ports[kind], [twice], 1)).statuses, [401], 'of two tokens the first counts')
  })
}
