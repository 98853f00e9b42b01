import t from 'tap'
import { cliFixture } from '../../../fixtures/cli.ts'

const fixture = cliFixture(t)

t.test('what is pending is shown, chosen, applied, discarded and undone', async (test) => {
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
  test.match(await run('discard'), { exit: 1, err: /say ids, --mine or --all/ })
  test.match(await run('discard --mine'), { exit: 0 })
  test.match((await run('get servers -o name')).out, 'web1\n')
  const log = await run('log -n 1')
  test.match(log.out, /^REVISION {2}WHEN +BY +CHANGES {2}COMMENT\n\d+ +\d+ s ago {2}admin@localhost {2}1 +first\n$/)
  const [, revision = ''] = /^(\d+)/m.exec(log.out.split('\n')[1] ?? '') ?? []
  test.match((await run(`undo ${revision}`)).out, /is staged; see fulcrum pending, then apply or discard\.\n$/)
  test.match((await run('pending')).out, '- realServers web1')
  test.match(await run('undo x'), { exit: 1, err: /x is no revision/ })
  test.match(await run('revert'), { exit: 1, err: /NOT_FOUND/ })
  const soon = await run('apply --confirm soon', { answers: ['y'] })
  test.match(soon, { exit: 1, out: '', err: 'fulcrum: soon is no duration: say 90s, 5m or 2h\n' }, 'nobody is asked')
})

t.test('options of one way to apply are refused with another one, before anything is asked', async (test) => {
  const { run } = await fixture(test)
  for (const [line, said] of [
    ['apply --prune', /--prune and --take-over go with -f/],
    ['apply --take-over', /go with -f/],
    ['apply plan.json --prune', /when the plan is made/],
    ['apply -f a.yaml --mine', /choose pending changes/],
    ['apply plan.json --only x', /choose pending changes/],
    ['apply --mine --only x', /say --mine or --only/],
    ['apply plan.json -f a.yaml', /say a plan, or -f/],
  ] as const)
    test.match(await run(`${line} -y`), { exit: 1, out: '', err: said }, line)
})
