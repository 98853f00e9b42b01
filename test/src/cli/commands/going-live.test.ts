import { json as bodyOf } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Contexts } from '../../../../src/cli/contexts.ts'
import { cliFixture, fulcrum, type Typed } from '../../../fixtures/cli.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)

t.test('pending changes are shown, chosen, applied, discarded and reverted', async (test) => {
  const { run, call } = await fixture(test)
  test.match(await run('pending'), { exit: 0, out: 'Nothing is pending.\n' })
  test.match(await run('apply -y'), { exit: 0, out: 'Nothing is pending.\n' })
  for (const [at, name] of ['web1', 'web2', 'web3'].entries())
    await call('POST', '/ipvsDirector/rips', { body: { name, ip: `192.0.2.${at + 1}`, port: 80 } })
  const pending = await run('pending')
  test.match(pending.out, /^\+ realServers web1 {2}by admin@localhost {2}[0-9a-f-]{36}\n/)
  test.match((await run('diff')).out, /ip: 192\.0\.2\.1\n/)
  const { changes } = JSON.parse((await run('pending --json')).out)
  const ids = changes.map(({ id }: { readonly id: string }) => id)
  test.match(await run(`apply --only ${ids[0]} -y -m first`), { exit: 0, out: /Revision \d+ runs/ })
  test.same(JSON.parse((await run(`discard ${ids[1]} --json`)).out), { discarded: [ids[1]] })
  test.match(await run('discard'), { exit: 1, err: /give ids, --mine or --all/ })
  test.match(await run('pending'), { out: /web3/ })
  test.match(await run('discard --mine'), { exit: 0 })
  test.match(await run('pending'), { exit: 0, out: 'Nothing is pending.\n' })
  test.match((await run('get servers -o name')).out, 'web1\n')
  const log = await run('log -n 1')
  test.match(log.out, /^REVISION {2}WHEN +BY +CHANGES {2}COMMENT\n\d+ +\d+ s ago {2}admin@localhost {2}1 +first\n$/)
  const [, revision = ''] = /^(\d+)/m.exec(log.out.split('\n')[1] ?? '') ?? []
  test.match((await run(`undo ${revision}`)).out, /is staged; see fulcrum pending, then apply or discard\.\n$/)
  test.match((await run('pending')).out, '- realServers web1')
  test.match(await run('undo x'), { exit: 1, err: /x is not a revision/ })
  test.match(await run('revert'), { exit: 1, err: /NOT_FOUND/ })
  const soon = await run('apply --confirm soon', { answers: ['y'] })
  test.match(
    soon,
    { exit: 1, out: '', err: 'fulcrum: soon is not a duration: use for example 90s, 5m, 2h or 7d\n' },
    'without a question',
  )
})

t.test('a pipeline with an API token applies the changes of its user alone', async (test) => {
  const { run, call, url, fingerprint } = await fixture(test)
  const { token } = (await call('POST', '/localUsers/me/tokens', { body: { name: 'ci' } })).json.data
  const env = { FULCRUM_URL: url, FULCRUM_TOKEN: token, FULCRUM_FINGERPRINT: fingerprint }
  test.match(await run('apply --mine -y', { env }), { exit: 0, out: /no pending change is yours alone/ })
  await call('POST', '/ipvsDirector/rips', { body: { name: 'own', ip: '192.0.2.9', port: 80 } })
  test.match(await run('apply --mine', { env }), { exit: 1, err: /use --yes/ })
  test.match(await run('apply --mine -y', { env }), { exit: 0, out: /Revision \d+ runs/ })
  test.equal((await run('pending')).out, 'Nothing is pending.\n')
})

t.test('options of one way to apply are refused with another one, before any request', async (test) => {
  const { run } = await fixture(test)
  for (const [line, said] of [
    ['apply --prune', /--prune and --take-over need -f/],
    ['apply --take-over', /need -f/],
    ['apply plan.json --prune', /when you create the plan/],
    ['apply -f a.yaml --mine', /select pending changes/],
    ['apply plan.json --only x', /select pending changes/],
    ['apply --mine --only x', /use either --mine or --only/],
    ['apply plan.json -f a.yaml', /give either a plan, or -f/],
  ] as const)
    test.match(await run(`${line} -y`), { exit: 1, out: '', err: said }, line)
})

const CHANGES = [
  { id: 'c1', name: 'web1', by: 'ann@corp.example', alsoBy: [] },
  { id: 'c2', name: 'web2', by: 'bob@corp.example', alsoBy: [] },
  { id: 'c3', name: 'web3', by: 'ann@corp.example', alsoBy: ['bob@corp.example'] },
].map((one) => ({
  ...one,
  op: 'create',
  resource: 'realServers',
  resourceId: one.name,
  before: null,
  after: {},
  effect: 'runtime',
  services: [],
}))

/** A daemon with pending changes, used by Ann, who is logged in; returns the requests. */
async function pendingAt(test: Test, { changes = CHANGES, warned = '' } = {}) {
  const sent: unknown[] = []
  const warnings = [{ code: 'REMARK', message: 'of web2', resource: 'realServers', resourceId: 'web2', name: 'web2' }]
  const answerTo = (body: unknown) => {
    sent.push(body)
    const isRefused = warned !== '' && Reflect.get(Object(body), 'refuseWarnings') === true
    return isRefused
      ? { code: 'WARNINGS', message: warned }
      : { message: 'Applied', data: { revision: 5, confirmBy: null } }
  }
  const port = await httpServer(test, (request, response) => {
    const answer = (told: object) => response.writeHead('code' in told ? 409 : 200).end(JSON.stringify(told))
    if (request.url === '/api/v1/localUsers/me')
      answer({ message: 'Your account', data: { email: 'bob@corp.example' } })
    else if (request.method === 'GET') answer({ message: 'Pending changes', data: { revision: 4, changes, warnings } })
    else void bodyOf(request).then((body) => answer(answerTo(body)))
  })
  const env = { HOME: temporaryFolder(test, 'home') }
  const url = `http://127.0.0.1:${port}`
  new Contexts(env).keep('lb', { url, user: 'Ann@corp.example', token: 'x' })
  const run = (args: string, typed: Typed = {}) => fulcrum(args.split(' '), env, typed)
  return { run, sent, url }
}

t.test('the changes shown go live, and none that were staged later', async (test) => {
  const { run, sent, url } = await pendingAt(test)
  const shown = async (args: string, typed: Typed = { answers: ['y'] }) => {
    const { exit, out } = await run(args, typed)
    test.equal(exit, 0, args)
    return [...out.matchAll(/web\d|\d to create/g)].map(([one]) => one).join(' ')
  }
  test.equal(await shown('apply'), 'web1 web2 web3 web2 3 to create')
  test.equal(await shown('apply --mine'), 'web1 1 to create')
  test.equal(await shown('apply --only c2'), 'web2 1 to create')
  test.equal(await shown('apply --only c1 --only c3'), 'web1 web3 2 to create')
  test.equal(await shown('apply -y', {}), 'web1 web2 web3 web2 3 to create')
  const env = { FULCRUM_URL: url, FULCRUM_TOKEN: 'x' }
  test.equal(await shown('apply --mine', { env, answers: ['y'] }), 'web2 1 to create', 'of the owner of the token')
  test.same(sent, [
    { refuseWarnings: false, changes: ['c1', 'c2', 'c3'] },
    { refuseWarnings: true, changes: ['c1'] },
    { refuseWarnings: true, changes: ['c2'] },
    { refuseWarnings: true, changes: ['c1', 'c3'] },
    { refuseWarnings: true, changes: ['c1', 'c2', 'c3'] },
    { refuseWarnings: true, changes: ['c2'] },
  ])
  test.match(await run('apply --only c9'), {
    exit: 1,
    out: '',
    err: 'fulcrum: there is no pending change c9: fulcrum pending lists them\n',
  })
  test.match(await run('apply --mine'), { exit: 1, err: /use --yes/ })
  const others = await pendingAt(test, { changes: CHANGES.slice(1) })
  test.match(await others.run('apply --mine -y'), { exit: 0, out: 'None of the pending changes is yours alone.\n' })
  test.same(others.sent, [])
})

t.test('hidden changes are not agreed to', async (test) => {
  const { run, sent } = await pendingAt(test, { warned: '1 warning: no server' })
  const { exit, out, err } = await run('apply --json', { answers: ['y', 'n'] })
  test.same([exit, out], [1, ''])
  test.match(err, /^Apply\?[^]*1 warning: no server/)
  test.match(sent, [{ refuseWarnings: true }])
  test.equal(sent.length, 1)
})

t.test('changes of access are discarded together, and each named one is gone', async (test) => {
  const { run, call } = await fixture(test)
  for (const name of ['one', 'two']) await call('POST', '/rbac/groups', { body: { id: name, name } })
  const { changes } = (await call('GET', '/services/pending')).json.data
  const ids = changes.map(({ id }: { readonly id: string }) => id)
  test.match(await run(['discard', ids[0], 'x']), { exit: 1, err: /there is no pending change x: fulcrum pending/ })
  test.equal((await call('GET', '/services/pending')).json.data.count, 2, 'and nothing is discarded')
  test.match(await run(['discard', ...ids, '--json']), { exit: 0, out: /"discarded"/, err: '' })
  test.match(await run('pending'), { out: 'Nothing is pending.\n' })
})

t.test('changes that need each other are discarded together, in the order in which they are listed', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.1', port: 80 } })
  const reals = [{ ripId: { name: 'web' } }]
  await call('POST', '/layer7proxy/backends', { body: { name: 'shop', mode: 'http', reals } })
  const { changes } = (await call('GET', '/services/pending')).json.data
  const [web, shop] = changes.map(({ id }: { readonly id: string }) => id)
  test.match(await run(['discard', web]), { exit: 1, err: /need this one: [^\n]*\(IN_USE\)/ })
  test.match(await run(['discard', web, shop]), { exit: 0, err: '' })
  test.match(await run('pending'), { out: 'Nothing is pending.\n' })
})

t.test('a warning about some changes is shown before they go live', async (test) => {
  const { run, sent } = await pendingAt(test, {
    warned: '1 warning: no server; apply without refuseWarnings if this is intended',
  })
  const asked = /1 warning: no server; apply with --accept-warnings if this is intended \(WARNINGS\)\nApply anyway\?/
  test.match(await run('apply --only c2', { answers: ['y', 'n'] }), { exit: 1, err: asked })
  test.match(await run('apply --only c2', { answers: ['y', 'y'] }), { exit: 0, err: asked, out: /Revision 5 runs/ })
  test.match(await run('apply --only c2 -y'), { exit: 1, err: /^fulcrum: 1 warning[^\n]+\n$/ })
  const [first, again] = [true, false].map((refuseWarnings) => ({ refuseWarnings, changes: ['c2'] }))
  test.same(sent, [first, first, again, first])
})
