import t from 'tap'
import type { Answer } from '../../../src/http/envelope.ts'
import type { Incoming } from '../../../src/http/incoming.ts'
import { sendingRefusedOn } from '../../../src/http/refused-at-page.ts'
import { endpoints } from '../../../src/resources/index.ts'

/** Refused logins are tested in test/src/resources/sign-in, and in a browser in test/system. */

const refused: Answer = { status: 401, code: 'INVALID_CREDENTIALS', contentType: 'x', body: 'secret', headers: {} }
const incoming = (path: string, accept: string) =>
  ({ path: `/api/v1${path}`, header: (name: string) => (name === 'accept' ? accept : '') }) as unknown as Incoming
const at = (answer: Answer | Promise<Answer>) => sendingRefusedOn(() => answer, '/api/v1', endpoints)

t.test('only where an identity provider redirects a browser, and only for one that accepts a page', async (test) => {
  const names = endpoints.filter(({ refusedAtPage }) => refusedAtPage).map(({ name }) => name)
  test.same(names.toSorted(), ['oidc.callback', 'oidc.login', 'saml.acs', 'saml.login'])
  for (const accept of ['', '*/*', 'application/json', 'application/json, text/html;q=0.5'])
    test.equal(at(refused)(incoming('/saml/acs', accept), ''), refused, accept)
  test.equal(at(refused)(incoming('/token', 'text/html'), ''), refused)
  const done: Answer = { ...refused, status: 200, code: undefined }
  test.equal(at(done)(incoming('/saml/acs', 'text/html'), ''), done)
})

t.test('a refusal becomes an address of the page, at once or later', async (test) => {
  const Location = '/#refused=INVALID_CREDENTIALS&by=saml.acs'
  for (const answer of [refused, Promise.resolve(refused)]) {
    const sent = await at(answer)(incoming('/saml/acs', 'text/html'), '')
    test.match(sent, { status: 303, headers: { Location } })
    test.notMatch(JSON.stringify(sent), /secret/)
  }
})
