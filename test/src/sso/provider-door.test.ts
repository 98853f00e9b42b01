import t, { type Test } from 'tap'
import { doorTo } from '../../../src/sso/provider-door.ts'
import { oidcProvider } from '../../simulators/oidc-provider.ts'

const GET = { method: 'GET', headers: {} }

async function fixture(test: Test, more: object = {}) {
  const provider = await oidcProvider(test)
  const rules = { caCertificate: provider.ca, allowsLoopback: true, within_ms: 10_000, ...more }
  return { ...provider, ask: doorTo(rules) }
}

t.test('an answer is a response as libraries expect it', async (test) => {
  const { issuer, ask } = await fixture(test)
  const answer = await ask(`${issuer}/keys`, GET)
  test.equal(answer.status, 200)
  test.equal(answer.headers.get('content-type'), 'application/json')
  test.match(await answer.json(), { keys: [{ kty: 'EC' }] })
  test.equal((await ask(`${issuer}/nothing`, GET)).status, 404)
})

t.test('a slow provider is given up', async (test) => {
  const { issuer, ask, told } = await fixture(test, { within_ms: 200 })
  told.silent.add('/keys')
  await test.rejects(ask(`${issuer}/keys`, GET), /abort|no answer within 200 ms/i)
})

t.test('a provider that is down is an error', async (test) => {
  const { issuer, ask, down } = await fixture(test)
  await down()
  await test.rejects(ask(`${issuer}/keys`, GET), { code: 'ECONNREFUSED' })
})

t.test('no request without https, to this machine itself, or to a foreign certificate', async (test) => {
  const { issuer, ask, asked } = await fixture(test)
  await test.rejects(ask(issuer.replace('https', 'http'), GET), /contacted by https/)
  const strict = await fixture(test, { allowsLoopback: false })
  await test.rejects(strict.ask(`${strict.issuer}/keys`, GET), /where no identity provider may be/)
  await test.rejects(ask('https://169.254.169.254/latest/meta-data', GET), /where no identity provider may be/)
  const common = await fixture(test, { caCertificate: '' })
  await test.rejects(common.ask(`${common.issuer}/keys`, GET), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' })
  test.same([...asked, ...strict.asked, ...common.asked], [])
})

t.test('an answer that is too long is not read to its end, and a redirect is not followed', async (test) => {
  const { issuer, ask, told, asked } = await fixture(test)
  told.instead.set('/keys', 'x'.repeat(600 * 1024))
  await test.rejects(ask(`${issuer}/keys`, GET), /more than 524288 bytes/)
  told.redirects.set('/keys', `${issuer}/elsewhere`)
  test.equal((await ask(`${issuer}/keys`, GET)).status, 302)
  test.notOk(asked.includes('/elsewhere'))
})
