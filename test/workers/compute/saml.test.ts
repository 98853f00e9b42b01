import t, { type Test } from 'tap'
import { judgeSamlResponse, samlMetadataOf } from '../../../workers/compute/saml.ts'
import { assertionOf, type Claims, encoded, responseAround, samlProvider } from '../../simulators/saml-provider.ts'

const ID = '_request'
const GOOD: Claims = { inResponseTo: ID }

async function fixture(test: Test) {
  const provider = await samlProvider(test)
  const judge = (response: string, requestId = ID, more: object = {}) =>
    judgeSamlResponse({ ...provider.parties, ...more }, requestId, response)
  const refused = async (title: string, response: string, reason = /./) => {
    const verdict = await judge(response)
    test.match('problem' in verdict ? verdict.problem : 'accepted', reason, title)
    test.ok('problem' in verdict, title)
  }
  return { ...provider, judge, refused }
}

t.test('metadata identify this service, and its address for answers', async (test) => {
  const { parties } = await fixture(test)
  const metadata = await samlMetadataOf(parties)
  test.ok(metadata.includes(`entityID="${parties.entityId}"`))
  test.ok(metadata.includes(`Location="${parties.acsUrl}"`))
  test.match(metadata, /WantAssertionsSigned="true"/)
  test.match(metadata, / ID="[A-Za-z_][\w.-]*"/, 'of the type xs:ID, which providers check')
})

t.test('a signed answer to the request vouches for an e-mail, in the NameID or an attribute', async (test) => {
  const { judge, response } = await fixture(test)
  test.same(await judge(response(GOOD)), { email: 'jane@example.org' })
  const attributes = { mail: ['j.doe@example.org'], two: ['a@b.c', 'd@e.f'] }
  const sent = response({ ...GOOD, email: 'opaque-1', attributes })
  test.same(await judge(sent, ID, { emailAttribute: 'mail' }), { email: 'j.doe@example.org' })
  test.match(await judge(sent, ID, { emailAttribute: 'two' }), { problem: /no e-mail/ })
  test.match(await judge(sent, ID, { emailAttribute: 'none' }), { problem: /no e-mail/ })
  test.match(await judge(sent, ID, { emailAttribute: 'constructor' }), { problem: /no e-mail/ })
  test.match(await judge(sent), { problem: /no e-mail/ })
})

t.test('an answer that the provider has not signed, or not for us, or not now, is refused', async (test) => {
  const { refused, response, signed } = await fixture(test)
  const stranger = await samlProvider(test)
  const good = Buffer.from(response(GOOD), 'base64').toString()
  await refused('not signed', encoded(responseAround(assertionOf(GOOD), GOOD)), /signature/i)
  await refused(
    'only the surrounding response is signed',
    encoded(signed(responseAround(assertionOf(GOOD), GOOD), 'Response')),
    /signature/i,
  )
  await refused('signed by another', stranger.response(GOOD), /signature/i)
  await refused('changed afterwards', encoded(good.replace('jane@', 'root@')), /signature/i)
  await refused('for another audience', response({ ...GOOD, audience: 'https://other.test' }), /audience/i)
  await refused('for another recipient', response({ ...GOOD, recipient: 'https://other.test/acs' }), /another service/)
  await refused('of another issuer', response({ ...GOOD, issuer: 'https://other.test' }), /issuer/)
  await refused('expired', response({ ...GOOD, notOnOrAfter_s: -120 }), /expired|confirmation/i)
  await refused('not yet', response({ ...GOOD, notBefore_s: 300 }), /not yet/i)
  await refused('to another request', response({ inResponseTo: '_other' }), /InResponseTo/)
  await refused('to no request', response({ inResponseTo: '' }), /InResponseTo/)
  const denied = 'urn:oasis:names:tc:SAML:2.0:status:Requester'
  await refused('a refusal', encoded(responseAround('', { ...GOOD, status: denied })))
})

t.test('SHA-1 signatures are refused, SHA-512 signatures are not', async (test) => {
  const { refused, judge, signed } = await fixture(test)
  const said = (algorithm: string, digest: string) =>
    encoded(responseAround(signed(assertionOf(GOOD), 'Assertion', { algorithm, digest }), GOOD))
  const [old, more, encryption] = ['2000/09/xmldsig#', '2001/04/xmldsig-more#', '2001/04/xmlenc#'].map(
    (place) => `http://www.w3.org/${place}`,
  )
  await refused('its signature', said(`${old}rsa-sha1`, `${encryption}sha256`), /must sign it with RSA and SHA-256/)
  await refused('its digest', said(`${more}rsa-sha256`, `${old}sha1`), /must sign it with RSA and SHA-256/)
  const disguised = Buffer.from(said(`${old}rsa-sha1`, `${encryption}sha256`), 'base64').toString()
  await refused('disguised', encoded(disguised.replace('rsa-sha1', 'rsa&#45;sha1')), /must sign it/)
  test.same(await judge(said(`${more}rsa-sha512`, `${encryption}sha512`)), { email: 'jane@example.org' })
})

t.test('a failure, or an answer sent elsewhere, is refused although its assertion is valid', async (test) => {
  const { refused, judge, response, signed } = await fixture(test)
  const good = signed(assertionOf(GOOD))
  const failed = 'urn:oasis:names:tc:SAML:2.0:status:Responder'
  await refused('no success', encoded(responseAround(good, { ...GOOD, status: failed })), /Responder/)
  await refused('words', encoded(responseAround(good, { ...GOOD, status: 'a b' })), /nothing known/)
  const around = responseAround(good, GOOD)
  await refused('no status', encoded(around.replace(/<samlp:Status>.*<\/samlp:Status>/, '')), /success/)
  const elsewhere = around.replace(/Destination="[^"]*"/, 'Destination="https://other.test/acs"')
  await refused('sent elsewhere', encoded(elsewhere), /another service/)
  test.same(await judge(encoded(around.replace(/ Destination="[^"]*"/, ''))), { email: 'jane@example.org' })
  const declared = `<?xml version="1.0" encoding="UTF-8"?>${Buffer.from(response(GOOD), 'base64').toString()}`
  test.same(await judge(encoded(declared)), { email: 'jane@example.org' })
})

t.test('an assertion is proof for the bearer of this request, and nothing else is accepted', async (test) => {
  const { refused, signed } = await fixture(test)
  const changed = (from: string | RegExp, to: string) =>
    encoded(responseAround(signed(assertionOf(GOOD).replace(from, to)), GOOD))
  await refused('another method', changed('cm:bearer', 'cm:holder-of-key'), /a proof other than bearer/)
  const other = '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"/></saml:Subject>'
  await refused('another method as well', changed('</saml:Subject>', other), /a proof other than bearer/)
  await refused('no confirmation', changed(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/, ''))
  await refused('unsolicited, in an answer that was made up', changed(/ InResponseTo="[^"]*"/, ''), /InResponseTo/)
  await refused('an instruction in the name', changed('@example.org', '@example.org<?x y?>.evil.test'), /instruction/)
})

t.test('a user with a thousand groups may log in', async (test) => {
  const { judge, signed } = await fixture(test)
  const type = 'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
  const values = Array.from({ length: 1000 }, (_, n) => `S-1-5-21-${n}`)
  const all = assertionOf({ ...GOOD, attributes: { groups: values } })
  const typed = all.replaceAll('<saml:AttributeValue>', `<saml:AttributeValue ${type} xsi:type="xs:string">`)
  for (const assertion of [all, typed]) {
    const sent = encoded(responseAround(signed(assertion), GOOD))
    test.ok(sent.length < 256 * 1024)
    test.same(await judge(sent), { email: 'jane@example.org' })
  }
})

t.test('assertions wrapped around a signed one are not read', async (test) => {
  const { judge, signed } = await fixture(test)
  const honest = signed(assertionOf(GOOD))
  const forged = assertionOf({ ...GOOD, email: 'root@example.org' }, '_forged')
  const inside = forged.replace('</saml:Issuer>', `</saml:Issuer>${honest}`)
  const forms = {
    before: responseAround(forged + honest, GOOD),
    after: responseAround(honest + forged, GOOD),
    around: responseAround(inside, GOOD),
    'the same id': responseAround(forged.replace('_forged', '_assertion') + honest, GOOD),
    'in an extension': responseAround(`<samlp:Extensions>${honest}</samlp:Extensions>${forged}`, GOOD),
  }
  for (const [title, xml] of Object.entries(forms)) {
    const verdict = await judge(encoded(xml))
    test.notOk('email' in verdict && verdict.email === 'root@example.org', `${title}: ${JSON.stringify(verdict)}`)
  }
})

t.test('a comment in an e-mail does not change it', async (test) => {
  const { judge, response } = await fixture(test)
  const verdict = await judge(response({ ...GOOD, email: 'root@example.org<!-- -->.evil.test' }))
  test.not('email' in verdict ? verdict.email : '', 'root@example.org')
})

t.test('anything but an answer is refused, however it looks', async (test) => {
  const { refused } = await fixture(test)
  const doctype = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
  for (const text of [
    '',
    'x',
    '<',
    '<a>',
    '<a/>',
    '{}',
    '<samlp:Response/>',
    doctype,
    `${doctype}<x>&b;</x>`,
    '\u0000',
  ]) {
    await refused(JSON.stringify(text), encoded(text))
  }
  await refused('not base64', '%%%%')
  await refused('very deep', encoded('<a>'.repeat(50_000)), /too many/)
  await refused('deep', encoded('<a>'.repeat(100)), /too deep/)
  await refused('wide', encoded(responseAround('<a/>'.repeat(3000), GOOD)), /too many/)
  await refused(
    'many attributes',
    encoded(`<a ${Array.from({ length: 2000 }, (_, n) => `b${n}=""`).join(' ')}/>`),
    /too many/,
  )
  await refused('long', encoded(`<a>${'x'.repeat(200_000)}</a>`), /too long/)
})
