import { request } from 'node:https'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon, PASSWORD } from '../fixtures/daemon.ts'
import { oidcProvider } from '../simulators/oidc-provider.ts'

interface Page {
  readonly status: number
  readonly location: string
  readonly cookies: readonly string[]
  readonly text: string
}

/** One step of a browser, which trusts this authority, or any certificate. */
function step(url: string, { ca, cookie = '' }: { readonly ca?: string; readonly cookie?: string } = {}) {
  return new Promise<Page>((resolve, reject) => {
    const options = { ca, rejectUnauthorized: ca !== undefined, agent: false, headers: { cookie } }
    request(url, options, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => {
        const { location = '', 'set-cookie': cookies = [] } = answer.headers
        resolve({ status: answer.statusCode ?? 0, location, cookies, text })
      })
    })
      .on('error', reject)
      .end()
  })
}

async function fixture(test: Test) {
  const provider = await oidcProvider(test)
  const daemon = new Daemon(temporaryFolder(test, 'daemon'), ['--no-demo'])
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  return { provider, daemon, baseUrl: `https://127.0.0.1:${daemon.port}` }
}

/** The steps of a browser from the first click to the code. */
async function logInAt(test: Test, baseUrl: string, ca: string) {
  const begun = await step(`${baseUrl}/api/v1/oidc/login`)
  test.equal(begun.status, 303)
  const [cookie = ''] = (begun.cookies[0] ?? '').split(';')
  const there = await step(begun.location, { ca })
  test.equal(there.status, 302)
  test.ok(there.location.startsWith(`${baseUrl}/api/v1/oidc/callback?`))
  const page = await step(there.location, { cookie })
  return { there, cookie, page, code: /<code id="code">([^<]+)</.exec(page.text)?.[1] ?? '' }
}

t.test('a browser logs in at a provider, and its session works until it is ended', async (test) => {
  const { provider, daemon, baseUrl } = await fixture(test)
  const jane = { email: 'jane@example.org', firstname: 'Jane', lastname: 'Doe', password: PASSWORD, disabled: 'false' }
  await daemon.data('POST', '/localUsers/users', jane)
  await daemon.data('PUT', '/oidc/config', { ...provider.config, baseUrl })
  await daemon.data('PUT', '/services/apply')

  const logIn = () => logInAt(test, baseUrl, provider.ca)
  const { there, cookie, page, code } = await logIn()
  test.equal(page.status, 200, page.text)
  test.equal((await step(there.location, { cookie })).status, 401, 'an answer counts once')
  test.equal((await step(there.location)).status, 401, 'and in no other browser')
  const opened = await daemon.call('POST', '/oidc/token', { body: { code }, token: '' })
  const { token, user } = opened.json.data
  test.equal(user.email, jane.email)
  test.match((await daemon.call('GET', '/localUsers/me/sessions', { token })).json.data, [{ via: 'oidc' }])
  await daemon.call('DELETE', '/token', { token })
  test.equal((await daemon.call('GET', '/localUsers/me', { token })).status, 401)

  provider.rotate()
  provider.published.push(provider.told.key)
  provider.told.claims = { email: 'stranger@example.org' }
  const early = await logIn()
  test.equal(early.page.status, 401, 'keys have just been fetched, and are not fetched for each unknown one')

  await provider.down()
  const later = await logIn().catch((error: unknown) => error)
  test.match(later, { code: 'ECONNREFUSED' }, 'the provider is down, and the daemon is not')
  test.equal((await daemon.call('GET', '/ping', { token: '' })).status, 200)
  for (const secret of [provider.config.clientSecret, code, cookie.split('=')[1] ?? 'no cookie'])
    test.notOk(`${daemon.stdout}${daemon.stderr}`.includes(secret), 'no secret is in the log')
})

t.test('a user without a record has the rights mapped to his groups, also after a crash', async (test) => {
  const { provider, daemon, baseUrl } = await fixture(test)
  const role = async (name: string, path: string) => {
    const body = { name, users: [], groups: [], endpoints: [{ path, methods: ['GET'] }] }
    return String((await daemon.data('POST', '/rbac/roles', body)).id)
  }
  const [servers, services] = [await role('servers', '/ipvsDirector/rips'), await role('services', '/services')]
  const groupMappings = [
    { group: '/operators', roles: [servers] },
    { group: '/watchers', roles: [services] },
  ]
  const configure = async (body: object) => {
    await daemon.data('PUT', '/oidc/config', body)
    await daemon.data('PUT', '/services/apply')
  }
  await configure({ ...provider.config, baseUrl, groupsClaim: 'groups', groupMappings })
  const redeem = async (groups: unknown) => {
    provider.told.claims = { email: 'ann@corp.example', groups }
    const { code } = await logInAt(test, baseUrl, provider.ca)
    return daemon.call('POST', '/oidc/token', { body: { code }, token: '' })
  }
  test.match((await redeem(['/strangers'])).json, { code: 'INVALID_CREDENTIALS' }, 'in no mapped group')
  const { token } = (await redeem(['/operators', '/watchers'])).json.data
  const statusOf = async (path: string) => (await daemon.call('GET', path, { token })).status
  test.equal(await statusOf('/ipvsDirector/rips'), 200)
  test.equal(await statusOf('/services'), 200)
  test.equal(await statusOf('/localUsers/users'), 403)
  const { id } = (await daemon.call('GET', '/localUsers/me', { token })).json.data

  await daemon.kill('SIGKILL')
  await daemon.start()
  await daemon.login()
  test.match((await daemon.call('GET', '/localUsers/me', { token })).json.data, { id, kind: 'oidc' })
  test.equal(await statusOf('/ipvsDirector/rips'), 200, 'the session was durable before it was answered')

  await configure({ groupMappings: groupMappings.slice(1) })
  test.equal(await statusOf('/ipvsDirector/rips'), 403, 'the mapping is removed')
  test.equal(await statusOf('/services'), 200)
  await daemon.data('DELETE', `/rbac/roles/${servers}`)
  await configure({ groupMappings: [] })
  test.equal(await statusOf('/services'), 401)
  await daemon.kill('SIGKILL')
  await daemon.start()
  await daemon.login()
  await configure({ groupMappings: groupMappings.slice(1) })
  test.equal(await statusOf('/services'), 401, 'and the session is over, whatever is mapped later')
})
