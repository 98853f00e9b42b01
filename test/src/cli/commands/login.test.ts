import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { Contexts } from '../../../../src/cli/contexts.ts'
import { ADMIN } from '../../../fixtures/appliance.ts'
import { cliFixture, fulcrum } from '../../../fixtures/cli.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)

interface Named {
  readonly name: string
}

t.test('a login stores a token and the certificate, and a logout revokes it', async (test) => {
  const { home, url, fingerprint, call } = await fixture(test)
  // An empty password is asked for.
  const env = { HOME: home, FULCRUM_PASSWORD: '' }
  const run = (args: readonly string[], answers: readonly string[] = []) => fulcrum(args, env, { answers })
  const unsure = await run(['login', url], ['n'])
  test.match(unsure, { exit: 1, err: new RegExp(`${fingerprint}[^]*nothing was changed`) })
  const wrong = await run(['login', url, '-u', ADMIN.email], ['y', 'a wrong password'])
  test.match(wrong, { exit: 1, err: /INVALID_CREDENTIALS/ })
  const login = await run(['login', url, '--name', 'lb'], ['y', ADMIN.email, ADMIN.password])
  test.match(login, { exit: 0, out: `Logged in to ${url} as ${ADMIN.email}. The context is called lb.\n` })
  test.notMatch(login.out + login.err, ADMIN.password)
  const kept = readFileSync(join(home, '.config', 'fulcrum', 'contexts.json'), 'utf8')
  test.notMatch(kept, ADMIN.password)
  test.match(JSON.parse(kept).contexts.lb, { url, user: ADMIN.email, fingerprint })
  test.match(await run(['contexts']), { out: /^ +NAME +URL +USER\n\* +lb +https/ })
  test.match(await run(['pending']), { exit: 0, out: 'Nothing is pending.\n' })
  const tokens = async () => (await call('GET', '/localUsers/me/tokens')).json.data.length
  test.equal(await tokens(), 1)
  test.match(await run(['logout']), { exit: 0 })
  test.equal(await tokens(), 0)
  test.match(await run(['pending']), { exit: 1, err: /not logged in/ })
})

t.test('a repeated login leaves no token behind', async (test) => {
  const { home, url, call } = await fixture(test)
  const run = (args: readonly string[]) =>
    fulcrum(args, { HOME: home }, { answers: ['y', ADMIN.email, ADMIN.password] })
  const names = async () => (await call('GET', '/localUsers/me/tokens')).json.data.map(({ name }: Named) => name)
  for (const name of ['lb', 'lb', 'lb', 'other']) {
    test.match(await run(['login', url, '--name', name]), { exit: 0 })
    test.match(await run(['pending']), { exit: 0 })
  }
  const tokens = await names()
  test.equal(tokens.length, 2, 'one for each context')
  for (const name of tokens) test.match(name, /^fulcrum of \S+@\S+(, [\dT:.-]+Z)?$/)
})

t.test('a logout forgets the context whose token it revokes, and no other one', async (test) => {
  const { home, url, fingerprint, call, env } = await fixture(test)
  const run = (args: string, more = {}) => fulcrum(args.split(' '), { HOME: home, ...more })
  const tokenOf = async (name: string): Promise<string> =>
    (await call('POST', '/localUsers/me/tokens', { body: { name } })).json.data.token
  for (const name of ['lb3', 'lb2', 'lb1'])
    new Contexts({ HOME: home }).keep(name, { url, user: ADMIN.email, token: await tokenOf(name), fingerprint })
  const names = async () => JSON.parse((await run('contexts --json')).out).map(({ name }: Named) => name)
  test.match(await run('logout --json', { FULCRUM_CONTEXT: 'lb2' }), { exit: 0, out: /"context": "lb2"/ })
  test.same(await names(), ['lb3', 'lb1'])
  test.match(await run('pending'), { exit: 0 }, 'the current context is still logged in')
  const spare = await tokenOf('spare')
  test.match(await run('logout', { ...env, FULCRUM_TOKEN: spare }), { exit: 0, err: '' })
  test.same(await names(), ['lb3', 'lb1'])
  test.match(await run('pending', { ...env, FULCRUM_TOKEN: spare }), { exit: 1 })
  test.match(await run('logout -c lb3'), { exit: 0, out: /^Logged out of \S+\.\n$/ })
  test.same(await names(), ['lb1'])
})

t.test('after a logout no other daemon is asked, and a token that was not revoked is reported', async (test) => {
  const { home, url, fingerprint } = await fixture(test)
  const run = (args: string, answers: readonly string[] = []) => fulcrum(args.split(' '), { HOME: home }, { answers })
  new Contexts({ HOME: home }).keep('prod', { url, user: ADMIN.email, token: 'prod', fingerprint })
  const login = `login ${url} --name staging --fingerprint ${fingerprint} --days 3`
  test.match(await run(login, [ADMIN.email, ADMIN.password]), { exit: 0 })
  const none = /From now on no context is selected: choose one with fulcrum contexts NAME\.\n$/
  test.match(await run('logout'), { exit: 0, err: '', out: none })
  test.match(await run('pending'), { exit: 1, err: /no context is selected/ })
  test.match(await run('logout -c prod'), { exit: 0, err: '', out: /^Logged out of \S+\.\n$/ }, 'already unknown there')
  test.match(await run(login, [ADMIN.email, ADMIN.password]), { exit: 0 })
  const contexts = new Contexts({ HOME: home })
  contexts.keep('staging', { ...contexts.chosen('staging'), url: 'https://127.0.0.1:1' })
  const until = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
  const lost = await run('logout')
  test.match(lost, {
    exit: 1,
    out: '',
    err: /cannot be reached: [^\n]+ the token stays valid until [^\n]+ admin page [^\n]+\n$/,
  })
  test.match(lost.err, `until ${until}`)
  test.match(await run('contexts'), { out: /Not logged in/ })
})

t.test('for a token ended without a quorum the daemon itself says where it still counts', async (test) => {
  const home = temporaryFolder(test, 'home')
  const message = 'What was to end has ended on this node'
  const port = await httpServer(test, (_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ status: 'error', code: 'NO_QUORUM', message }))
  })
  new Contexts({ HOME: home }).keep('lb', { url: `http://127.0.0.1:${port}`, user: ADMIN.email, token: 'fulcrum_x_y' })
  const ended = await fulcrum(['logout'], { HOME: home })
  test.match(ended, { exit: 1, err: /^fulcrum: [^\n]*What was to end has ended on this node/ })
  test.notMatch(ended.err, 'stays valid')
  test.match(await fulcrum(['contexts'], { HOME: home }), { out: /Not logged in/ })
})

t.test('a login that cannot be stored creates no token, and no other context is lost', async (test) => {
  const { home, url, fingerprint, call } = await fixture(test)
  const run = (args: readonly string[]) => fulcrum(args, { HOME: home }, { answers: [ADMIN.email, ADMIN.password] })
  const login = ['login', url, '--fingerprint', fingerprint]
  const count = async () => (await call('GET', '/localUsers/me/tokens')).json.data.length
  const before = await count()
  const refused = async (args: readonly string[], err: RegExp) =>
    test.match(await run(args), { exit: 1, out: '', err }, String(err))
  await refused([...login, '--days', 'x'], /^fulcrum: --days x is not a number/)
  const contexts = new Contexts({ HOME: home })
  mkdirSync(dirname(contexts.path), { recursive: true })
  writeFileSync(contexts.path, '{')
  await refused(login, /^fulcrum: [^\n]+ is damaged/)
  rmSync(contexts.path)
  contexts.keep('127.0.0.1', { url: 'https://127.0.0.1:1', user: '', token: 'other', fingerprint })
  await refused(login, /^fulcrum: the context 127\.0\.0\.1 is https:\S+: choose another name with --name, or log out/)
  rmSync(dirname(contexts.path), { recursive: true })
  writeFileSync(dirname(contexts.path), '')
  await refused(login, /cannot be read/)
  rmSync(dirname(contexts.path))
  symlinkSync('/proc/no/such', dirname(contexts.path))
  await refused(login, /Password[^]+fulcrum cannot be created/)
  test.equal(await count(), before)
})

t.test('a wrong address or certificate is reported before anything is sent', async (test) => {
  const { home, url, fingerprint } = await fixture(test)
  const run = (args: readonly string[]) => fulcrum(args, { HOME: home })
  test.match(await run(['login', 'http://192.0.2.1:9443']), { exit: 1, err: /is not encrypted/ })
  test.match(await run(['login', '::']), { exit: 1, err: /is not a URL/ })
  test.match(await run(['login', 'https://127.0.0.1:1']), { exit: 1, err: /nothing listens there/ })
  test.match(await run(['login', url]), {
    exit: 1,
    err: /fulcrum: use --fingerprint SHA256 when input is not a terminal\n$/,
  })
  test.match(await run(['login', url, '--fingerprint', 'AA:BB']), { exit: 1, err: /has a different certificate/ })
  const noTerminal = await run(['login', url, '--fingerprint', fingerprint, '-u', 'a@b.test'])
  test.match(noTerminal, { exit: 1, err: /: set FULCRUM_PASSWORD when input is not a terminal/ })
  const nobody = await run(['login', url, '--fingerprint', fingerprint])
  test.match(nobody, { exit: 1, err: /: use --user when input is not a terminal/ })
  test.match(await run(['login', url, '--days', 'x', '--fingerprint', fingerprint]), { exit: 1 })
  test.match(await run(['contexts', 'nope']), { exit: 1, err: /there is no context nope/ })
})
