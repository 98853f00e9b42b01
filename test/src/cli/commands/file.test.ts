import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { certificateMaker } from '../../../fixtures/certificate-maker.ts'
import { cliFixture } from '../../../fixtures/cli.ts'

const fixture = cliFixture(t)

const SITE = `version: 1
owner: shop
realServers:
  web1: { ip: 192.0.2.1, port: 8080 }
l7Backends:
  shop: { mode: http, reals: [{ ripId: web1 }], healthCheck: { type: none } }
`

t.test('plan, apply, export: exit 2 while there are changes, 0 when there are none', async (test) => {
  const { run, home, call } = await fixture(test)
  const file = join(home, 'lb.yaml')
  writeFileSync(file, SITE)
  const plan = await run(['plan', '-f', file])
  test.equal(plan.exit, 2)
  test.equal(
    plan.out,
    '+ realServers web1\n+ l7Backends shop  (reload)\n2 to create, 0 to change, 0 to delete, with a reload or restart of layer7proxy.\n',
  )
  test.match((await run(['plan', '-w', '-f', file])).out, /reals\.0\.ripId: web1[^]*\+ {4}server /)
  const unasked = await run(['apply', '-f', file])
  test.match(unasked, { exit: 1, err: 'fulcrum: use --yes when input is not a terminal\n' })
  test.match(await run(['apply', '-f', file], { answers: ['n'] }), { exit: 1, err: /Apply\?.*nothing was changed/s })
  const applied = await run(['apply', '-f', file, '-m', 'the shop', '--confirm', '60s'], { answers: ['y'] })
  test.match(applied, {
    exit: 0,
    out: /Revision \d+ runs\.\nIt is reverted in \d\d s unless you run: fulcrum confirm/,
  })
  test.match(await run(['plan', '-f', file]), { exit: 0, out: 'Nothing would change.\n' })
  const waiting =
    /^fulcrum: The running revision \d+ by admin@localhost already matches the document, and is reverted in \d\d s unless you run: fulcrum confirm\n$/
  test.match(await run(['apply', '-f', file]), { exit: 1, err: waiting }, 'it is not kept')
  test.match((await run('confirm')).out, /Revision \d+ is kept/)
  test.match((await call('GET', '/revisions?limit=1')).json.data, [{ comment: 'the shop' }])
  test.match(await run(['plan', '-f', file]), { exit: 0, out: 'Nothing would change.\n' })
  test.match(await run(['apply', '-f', file]), { exit: 0, out: 'Nothing would change.\n' })
  const exported = await run('export')
  test.match(exported.out, /^# yaml-language-server: \$schema=https:\/\/.*\/config\/schema\.json\nversion: 1\n/)
  test.match(await run(['plan', '-f', '-'], { input: exported.out }), { exit: 0 })
  test.same(JSON.parse((await run('export realServers --owner shop --json')).out).realServers, {
    web1: { ip: '192.0.2.1', port: 8080 },
  })
})

t.test('a saved plan is applied exactly, or not at all', async (test) => {
  const { run, home, call } = await fixture(test)
  const [file, kept] = [join(home, 'lb.yaml'), join(home, 'p.json')]
  writeFileSync(file, SITE)
  test.equal((await run(['plan', '-f', file, '--out', kept])).exit, 2)
  test.equal(statSync(kept).mode & 0o777, 0o600)
  test.equal((await run(['apply', kept])).exit, 0)
  writeFileSync(file, SITE.replace('8080', '8081'))
  await run(['plan', '-f', file, '--out', kept])
  const reals = (await call('GET', '/ipvsDirector/rips?name=web1')).json.data
  await call('PUT', `/ipvsDirector/rips/${reals[0].id}`, { body: { port: 8082 } })
  await call('PUT', '/services/apply')
  test.match(await run(['apply', kept]), { exit: 1, err: /would now do something else/ })
  const refused = `${file} is not a plan: create one with fulcrum plan --out, or apply a document with -f`
  test.match(await run(['apply', file]), { exit: 1, err: refused })
  test.match(await run(['apply', `${file}.gone`]), { exit: 1, err: `there is no file ${file}.gone` })
  writeFileSync(kept, '{}')
  test.match(await run(['apply', kept]), { exit: 1, err: /apply a document with -f/ })
  test.match(await run(['apply', kept, '-f', file]), { exit: 1, err: /give either a plan, or -f/ })
})

t.test('deletions are shown first, and many are confirmed by their number', async (test) => {
  const { run, home } = await fixture(test)
  const file = join(home, 'lb.yaml')
  const servers = Array.from({ length: 12 }, (_, at) => `  web${at}: { ip: 192.0.2.${at + 1}, port: 80 }\n`)
  writeFileSync(file, `version: 1\nowner: shop\nrealServers:\n${servers.join('')}`)
  await run(['apply', '-f', file, '--yes'])
  writeFileSync(file, 'version: 1\nowner: shop\nrealServers:\n  new: { ip: 192.0.2.99, port: 80 }\n')
  test.match(await run(['plan', '-f', file]), { out: /^\+ realServers new\n1 to create, 0 to change, 0 to delete/ })
  const plan = await run(['plan', '-f', file, '--prune'])
  test.match(plan.out, /^(- realServers web\d+\n){12}\+ realServers new\n1 to create, 0 to change, 12 to delete/)
  test.match(await run(['apply', '-f', file, '--prune'], { answers: ['y'] }), {
    exit: 1,
    err: /12 records will be deleted.*nothing was changed/s,
  })
  test.match(await run(['apply', '-f', file, '--prune'], { answers: ['12'] }), { exit: 0 })
  test.match((await run('get servers -o name')).out, 'new\n')
})

t.test("a third of the owner's records", async (test) => {
  const { run, home } = await fixture(test)
  const file = join(home, 'lb.yaml')
  const server = (at: number) => `  web${at}: { ip: 192.0.2.${at + 1}, port: 80 }\n`
  const log = 'syslogServers: { host: 192.0.2.99, port: 6514, transport: tcp }\n'
  const write = (...servers: readonly number[]) =>
    writeFileSync(file, `version: 1\nowner: shop\n${log}realServers:\n${servers.map(server).join('')}`)
  write(1, 2, 3, 4, 5, 6)
  test.match(await run(['apply', '-f', file, '--yes']), { exit: 0 })
  write(1, 2, 3, 4)
  test.match(await run(['apply', '-f', file, '--prune'], { answers: ['y'] }), { exit: 0, err: /Apply\?/ }, '2 of 6')
  write(1, 2, 5, 6, 7)
  const asked = await run(['apply', '-f', file, '--prune'], { answers: ['y'] })
  test.match(asked, { exit: 1, err: /2 records will be deleted.*nothing was changed/s }, '2 of 4, whatever is new')
})

t.test('warnings stop an apply that was not reviewed', async (test) => {
  const { run, home } = await fixture(test)
  const file = join(home, 'lb.yaml')
  writeFileSync(
    file,
    `version: 1
realServers:
  web1: { ip: 192.0.2.1, port: 80, state: halted }
l7Backends:
  shop: { mode: http, reals: [{ ripId: web1 }] }
l7Frontends:
  shop: { mode: http, ip: 127.0.0.1, ports: "8091", defaultBackendId: shop }
`,
  )
  test.match(await run(['validate', '-f', file]), { exit: 0, out: /^! [A-Z_]+ .*\nThe document is valid\.\n$/ })
  test.match(await run(['apply', '-f', file, '--yes']), {
    exit: 1,
    err: /; apply with --accept-warnings if this is intended \(WARNINGS\)/,
  })
  const kept = join(home, 'p.json')
  await run(['plan', '-f', file, '--out', kept])
  const made = JSON.parse(readFileSync(kept, 'utf8'))
  const unseen = join(home, 'q.json')
  writeFileSync(unseen, JSON.stringify({ ...made, warnings: [] }))
  test.match(await run(['apply', unseen]), { exit: 1, err: /\(WARNINGS\)/ }, 'that appeared after the plan')
  test.match(await run(['apply', kept]), { exit: 0 }, 'that were shown with it')
  writeFileSync(file, readFileSync(file, 'utf8').replace('8091', '8092'))
  test.match(await run(['apply', '-f', file, '--yes', '--accept-warnings']), { exit: 0 })
})

t.test('problems are shown with their paths, one per line', async (test) => {
  const { run, home } = await fixture(test)
  const file = join(home, 'lb.yaml')
  writeFileSync(file, 'version: 1\nrealServers:\n  a: { ip: "x y", port: 0.5 }\n')
  const { exit, err } = await run(['plan', '-f', file])
  test.equal(exit, 1)
  test.match(
    err,
    /^fulcrum: The body has 2 problems \(INVALID_BODY\)\n {2}document\.realServers\.a\.ip: .*\n {2}document/,
  )
  test.match(await run('plan'), { exit: 1, err: /required option '-f, --file <file>' not specified/ })
  test.match(await run(['plan', '-f', join(home, 'no.yaml')]), { exit: 1, err: /there is no file/ })
  writeFileSync(file, 'version: 1\nrealServers: {\n')
  test.match(await run(['plan', '-f', file]), { exit: 1, err: /lb\.yaml:\d+:\d+: / })
  test.match(JSON.parse((await run('schema')).out), { title: 'Configuration of Fulcrum' })
  test.ok(readFileSync(file))
})

t.test('a haproxy.cfg becomes a document, with its certificates and remarks', async (test) => {
  const { run, home } = await fixture(test)
  const [cfg, pem, made] = [join(home, 'haproxy.cfg'), join(home, 'www.pem'), join(home, 'lb.yaml')]
  const { cert, key } = certificateMaker(test).pair({ name: 'www.test' })
  writeFileSync(pem, `${cert}${key}`)
  const lines = [
    'frontend f',
    ' mode http',
    ` bind 127.0.0.1:8492 ssl crt ${pem}`,
    ' default_backend b',
    ' option httplog',
  ]
  writeFileSync(cfg, [...lines, ' http-request lua.x', 'backend b', ' mode http', ' server s 192.0.2.1:80'].join('\n'))
  const { exit, out, err } = await run(['import', 'haproxy', cfg, '--owner', 'moved'])
  test.equal(exit, 0)
  test.match(out, `pem: \${file:${pem}}`)
  test.match(err, /^Notes on 1 line:\n {2}5: option httplog\n.*\n1 line not understood:\n {2}6: http-request lua/)
  writeFileSync(made, out)
  test.match(await run(['apply', '-f', made, '--yes', '--accept-warnings']), { exit: 0, out: /certificates www/ })
  test.match(await run('get certs -o name'), { out: 'www\n' })
  test.match(await run(['import', 'nginx', cfg]), { exit: 1, err: /nginx cannot be imported/ })
  test.match(await run(['import', 'haproxy', '/no/such']), { exit: 1, err: /there is no file/ })
})

t.test('the content of a record gives no instructions to the user who exports it', async (test) => {
  const { run, home, call } = await fixture(test)
  const rules = [{ do: { type: 'setHeader', name: 'X-A', value: '${file:/etc/hostname}${env:HOME}' } }]
  await call('POST', '/layer7proxy/frontends', {
    body: { name: 'f', mode: 'http', ip: '127.0.0.1', ports: '8493', rules },
  })
  await call('PUT', '/services/apply')
  const { out } = await run('export')
  test.match(out, '$${file:/etc/hostname}$${env:HOME}')
  const file = join(home, 'now.yaml')
  writeFileSync(file, out)
  test.match(await run(['plan', '-f', file]), { exit: 0, out: 'Nothing would change.\n' })
})
