import t from 'tap'
import { PAGE_BYTES_MAX } from '../../../src/model/l7-settings.ts'
import { backendProblems, frontendProblems } from '../../../src/rules/layer7.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

type Frontend = Parameters<typeof frontendProblems>[0]
type Backend = Parameters<typeof backendProblems>[0]

const ofFrontend = (more: Partial<Frontend>) =>
  frontendProblems({ mode: 'http', ...more }).map(({ field, message }) => `${field} ${message}`)
const ofBackend = (more: Partial<Backend>) =>
  backendProblems({ mode: 'http', persistence: { type: 'none' }, balance: 'roundrobin', reals: [], ...more }).map(
    ({ field, message }) => `${field} ${message}`,
  )

t.test("pages fit into HAProxy's buffer, in any script", async (test) => {
  const tooLong = 'é'.repeat(PAGE_BYTES_MAX / 2 + 1)
  const refused = [
    'errorPages.0.page has 15002 bytes in UTF-8, but HAProxy can send at most 15000',
    'maintenance.page has 15002 bytes in UTF-8, but HAProxy can send at most 15000',
  ]
  const answers = (page: string) => ({
    errorPages: [{ status: 503 as const, page }],
    maintenance: { enabled: true, page },
  })
  test.same([ofFrontend(answers(tooLong)), ofBackend(answers(tooLong))], [refused, refused])
  const longest = tooLong.slice(1)
  test.same([ofFrontend(answers(longest)), ofBackend(answers(longest))], [[], []])
  test.match(ofFrontend({ rules: [{ do: { type: 'respond', body: tooLong } }] }), [/^rules\.0\.do\.body has 15002/])
})

t.test('a status has one page, and one without a body has none', async (test) => {
  const pages = [503, 404, 503].map((status) => ({ status: status as 503 | 404, page: 'x' }))
  test.same(ofBackend({ errorPages: pages }), ['errorPages.2.status 503 already has a page'])
  test.match(ofFrontend({ maintenance: { enabled: false, status: 204 } }), [/^maintenance\.status 204 has no body/])
  const respond = { type: 'respond', status: 304 } as const
  test.match(ofFrontend({ rules: [{ do: { ...respond, body: 'x' } }] }), [/^rules\.0\.do\.status 304 has no body/])
  test.same(ofFrontend({ rules: [{ do: respond }] }), [])
})

t.test('HTTP settings need mode http', async (test) => {
  const answers = {
    errorPages: [{ status: 503 as const, page: '' }],
    maintenance: { enabled: true, status: 503, page: '' },
  }
  const inBoth = [
    'errorPages needs mode http',
    'maintenance.status needs mode http',
    'maintenance.page needs mode http',
  ]
  test.same(
    ofFrontend({
      mode: 'tcp',
      ...answers,
      compression: { enabled: true },
      timeouts: { httpRequest: 1, httpKeepAlive: 1, clientFin: 1 },
    }),
    [
      'compression.enabled needs mode http',
      'timeouts.httpRequest needs mode http',
      'timeouts.httpKeepAlive needs mode http',
      ...inBoth,
    ],
  )
  test.same(ofBackend({ mode: 'tcp', ...answers, httpReuse: 'always' }), ['httpReuse needs mode http', ...inBoth])
  const plain = { maintenance: { enabled: true }, errorPages: [] }
  test.same(ofFrontend({ mode: 'tcp', ...plain, compression: { enabled: false }, proxyProtocol: true }), [])
  test.same(ofBackend({ mode: 'tcp', ...plain, httpReuse: 'safe' }), [])
})

t.test('HTTP/3 is HTTP over TLS', async (test) => {
  test.same(ofFrontend({ http3: true, certificates: ['c'] }), [])
  test.same(ofFrontend({ http3: true }), ['http3 needs certificates'])
  test.same(ofFrontend({ mode: 'tcp', http3: true, certificates: ['c'] }), ['http3 needs mode http'])
})

t.test('proxies are addresses and networks', async (test) => {
  test.same(ofFrontend({ proxyProtocol: ['192.0.2.1', '2001:db8::/32'] }), [])
  test.same(ofFrontend({ proxyProtocol: ['192.0.2.1', 'lb } accept', '192.0.2.0/33'] }), [
    'proxyProtocol.1 must be an address or a network such as 192.0.2.0/24',
    'proxyProtocol.2 must be an address or a network such as 192.0.2.0/24',
  ])
})

t.test('client certificates need authorities, and TLS', async (test) => {
  const maker = certificateMaker(test)
  const { cert: own, key } = maker.pair({ name: 'client' })
  const authority = maker.pair({ name: 'authority', isCa: true }).cert
  const clients = { certificates: ['c'], clientVerify: 'required' as const }
  test.same(ofFrontend({ ...clients, clientCa: `the first\n${authority}\n${authority}` }), [])
  test.match(ofFrontend({ ...clients }), [/^clientVerify needs clientCa/])
  test.match(ofFrontend({ ...clients, certificates: [], clientCa: authority }), [/^clientVerify needs certificates/])
  test.match(ofFrontend({ certificates: ['c'], clientCa: authority }), [/^clientVerify needs optional or required/])
  test.match(ofFrontend({ ...clients, clientCa: `${authority}${own}` }), [
    /^clientCa contains .* not from an authority: .* 2 may/,
  ])
  test.match(ofFrontend({ ...clients, clientCa: `${authority}${key}` }), [/^clientCa must be certificates in PEM, and/])
  test.match(ofFrontend({ ...clients, clientCa: 'x' }), [/^clientCa must be certificates in PEM/])
  const broken = authority.replace(/\n[A-Za-z0-9+/]{64}\n/, '\nAAAA\n')
  test.match(ofFrontend({ ...clients, clientCa: broken }), [/^clientCa cannot be read: certificate 1 is invalid/])
})
