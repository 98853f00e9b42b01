import { inflateRawSync } from 'node:zlib'
import t from 'tap'
import { requestUrl } from '../../../src/sso/saml-request.ts'

const parts = {
  entityId: 'https://lb.test/api/v1/saml/metadata',
  acsUrl: 'https://lb.test/api/v1/saml/acs',
  idpSsoUrl: 'https://idp.test/sso?tenant=a&b=<"',
  requestId: '_1',
  at: '2026-11-20T00:00:00.000Z',
}

t.test('a request names its sender and the address for the answer; configured values stay text', async (test) => {
  const url = new URL(requestUrl(parts))
  test.equal(url.origin + url.pathname, 'https://idp.test/sso')
  test.equal(url.searchParams.get('tenant'), 'a')
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
  test.match(xml, / ID="_1" Version="2.0" IssueInstant="2026-11-20T00:00:00.000Z"/)
  test.match(xml, / AssertionConsumerServiceURL="https:\/\/lb.test\/api\/v1\/saml\/acs"/)
  test.match(xml, /<saml:Issuer [^>]*>https:\/\/lb.test\/api\/v1\/saml\/metadata<\/saml:Issuer>/)
  test.ok(xml.includes(' Destination="https://idp.test/sso?tenant=a&amp;b=&lt;&quot;"'))
})
