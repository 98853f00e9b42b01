import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { certificateMaker } from '../../../fixtures/certificate-maker.ts'
import { cliFixture } from '../../../fixtures/cli.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)

t.test('a backup is a file for its owner only, and is restored by section', async (test) => {
  const { run, home, call } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  await call('PUT', '/services/apply')
  const file = join(home, 'backup.json')
  test.match(await run(['backup', 'create', file]), { exit: 0 })
  test.same(JSON.parse((await run(['backup', 'create', file, '--json'])).out), { file })
  test.match(JSON.parse((await run('backup create -')).out), { format: 1 })
  test.equal(statSync(file).mode & 0o777, 0o600)
  test.match(JSON.parse(readFileSync(file, 'utf8')), { format: 1, checksum: String })
  const [real] = (await call('GET', '/ipvsDirector/rips')).json.data
  await call('DELETE', `/ipvsDirector/rips/${real.id}`)
  await call('PUT', '/services/apply')
  test.match(await run(['backup', 'restore', file, 'realServers']), {
    exit: 0,
    out: /: staged, see fulcrum pending\.\n$/,
  })
  test.match((await run('pending')).out, '+ realServers web1')
  test.same((await call('GET', '/backup/list')).json.data.uploads, [], 'no copy stays on the appliance')
  writeFileSync(file, '{}')
  test.match(await run(['backup', 'restore', file]), { exit: 1, err: /INVALID_BODY/ })
  test.match(await run(['backup', 'create', '/no/such/folder/x']), { exit: 1, err: /cannot be written/ })
  const sealed = join(home, 'sealed.json')
  const typedTwice = ['a long passphrase', 'a long passphrase']
  test.equal((await run(['backup', 'create', sealed, '--passphrase'], { answers: typedTwice })).exit, 0)
  test.not(readFileSync(sealed, 'utf8').includes('PRIVATE KEY'), true)
  const opened = await run(['backup', 'restore', sealed, 'realServers', '--passphrase'], {
    answers: ['a long passphrase'],
  })
  test.equal(opened.exit, 0, opened.err)
})

t.test('a backup that should be sealed is sealed, or is not written', async (test) => {
  const { run, home, call } = await fixture(test)
  const file = join(home, 'sealed.json')
  const create = (phrase: string | undefined, answers: readonly string[] = []) =>
    run(['backup', 'create', file, '--passphrase'], {
      answers,
      env: phrase === undefined ? {} : { FULCRUM_PASSPHRASE: phrase },
    })
  const refusal = 'fulcrum: a passphrase has 8 to 256 printable ASCII characters\n'
  for (const phrase of ['', ' '.repeat(9), 'seven 7', 'x'.repeat(257), 'пароль-пароль', 'tab\there it is']) {
    const err = `Passphrase: \nRepeat: \n${refusal}`
    test.match(await create(undefined, [phrase, phrase]), { exit: 1, out: '', err }, phrase)
    if (phrase !== '') test.match(await create(phrase), { exit: 1, out: '', err: refusal }, phrase)
  }
  test.match(await create(''), { exit: 1, err: /: set FULCRUM_PASSPHRASE when/ }, 'an empty variable counts as unset')
  const mistyped = ['a long passphrase', 'a long pasphrase']
  test.match(await create(undefined, mistyped), { exit: 1, err: /the two entries differ/ })
  test.notOk(existsSync(file), 'nothing is written')
  test.match(await create('from a file, with its end of line\n'), { exit: 0 })
  const restore = (phrase: string) =>
    run(['backup', 'restore', file, 'realServers', '--passphrase'], { answers: [phrase] })
  for (const phrase of ['', 'пароль-пароль'])
    test.match(await restore(phrase), { exit: 1, err: /the passphrase of a backup consists of/ }, phrase)
  const asked = /The passphrase \(--passphrase or FULCRUM_PASSPHRASE\)/
  const wrong = await restore('short')
  test.match(wrong, { exit: 1, err: asked })
  test.match(wrong.err, /is not the passphrase of this backup/)
  const without = await run(['backup', 'restore', file, 'realServers'])
  test.match(without, { exit: 1, err: asked })
  test.notMatch(without.err, /X-Backup/, 'a header that was not sent here')
  test.same((await call('GET', '/backup/list')).json.data.uploads, [], 'of a refused restore as well')
  const env = { FULCRUM_PASSPHRASE: 'from the variable alone' }
  test.match(await run(['backup', 'create', file], { env }), { exit: 0 })
  test.match(await run(['backup', 'restore', file, 'realServers']), { exit: 1, err: asked }, 'is sealed')
  test.match(await run(['backup', 'restore', file, 'realServers'], { env }), { exit: 0 })
  test.match(await create('from a file, with its end of line\n'), { exit: 0 })
  test.match(await restore('from a file, with its end of line'), { exit: 0 })
})

t.test('a full restore leaves no copy, and uploads of others stay', async (test) => {
  const { run, home, call } = await fixture(test)
  const file = join(home, 'backup.json')
  await run(['backup', 'create', file])
  await call('POST', '/backup/upload', { body: { backup: readFileSync(file, 'utf8') } })
  const uploads = async () => (await call('GET', '/backup/list')).json.data.uploads
  const [others] = await uploads()
  test.match(await run(['backup', 'restore', file]), { exit: 0, out: /is staged/, err: /succeeded/ })
  test.same(await uploads(), [others])
  await call('DELETE', '/backup/uploads')
})

t.test('certificates are uploaded, replaced by name, and their expiry is shown', async (test) => {
  const { run, home } = await fixture(test)
  const maker = certificateMaker(test)
  const write = (name: string) => {
    const { cert, key } = maker.pair({ name })
    const [a, b] = [join(home, `${name}.crt`), join(home, `${name}.key`)]
    writeFileSync(a, cert)
    writeFileSync(b, key)
    return [a, b]
  }
  test.match(await run(['cert', 'add', 'site', ...write('www.test')]), { exit: 0, out: /Certificate stored/ })
  const replaced = await run(['cert', 'add', 'site', ...write('new.test'), '--json'])
  test.match(JSON.parse(replaced.out), { id: /^[0-9a-f-]{36}$/ })
  test.match((await run('get certs')).out, /site +new\.test/)
  const [cert = '', key = ''] = write('typed.test')
  test.equal((await run(['cert', 'add', 'site', '-', key], { input: readFileSync(cert, 'utf8') })).exit, 0)
  test.match((await run('get certs')).out, /site +typed\.test/)
  test.match(await run('cert expiring --days 1'), { exit: 0, out: 'No certificate expires within a day.\n' })
  test.match(await run('cert expiring --days 9999'), { exit: 1, out: /NAME +UNTIL +LEFT\nsite / })
  test.match(await run('cert expiring --days soon'), { exit: 1, err: /soon is not a number/ })
  test.match(await run(['cert', 'add', 'site', write('x.test')[0] ?? '']), {
    exit: 1,
    err: /INVALID_BODY|KEY_MISMATCH/,
  })
  test.match(await run(['cert', 'add', 'site', '/no/such']), { exit: 1, err: /there is no file/ })
})

t.test('of several certificates with one name none is replaced', async (test) => {
  const { run, home } = await fixture(test)
  const pem = join(home, 'a.pem')
  writeFileSync(pem, '')
  const asked: unknown[] = []
  const port = await httpServer(test, ({ method, url }, response) => {
    asked.push([method, url?.split('?')[0]])
    response.end(JSON.stringify({ status: 'success', message: 'Certificates', data: [{ id: 'a' }, { id: 'b' }] }))
  })
  const added = await run(['cert', 'add', 'site', pem], { env: { FULCRUM_URL: `http://127.0.0.1:${port}` } })
  test.match(added, {
    exit: 1,
    out: '',
    err: /several records are named site \(a, b\): .*PUT \/certificates\/certs\/ID/,
  })
  test.same(asked, [['GET', '/api/v1/certificates/certs']])
})

t.test('a support bundle holds no secret', async (test) => {
  const { run, call, home, token } = await fixture(test)
  const file = join(home, 'd.json')
  const { cert, key } = certificateMaker(test).pair({ name: 'www.test' })
  writeFileSync(join(home, 'a.pem'), `${cert}${key}`)
  await run(['cert', 'add', 'site', join(home, 'a.pem')])
  const secrets = ['chat-secret-1', 'snmp-secret-22', 'oidc-secret-333', 'ann-Secret-4444']
  const [chat, snmp, oidc, password] = secrets
  const given = [
    ['POST', '/alerts/targets', { name: 'chat', type: 'webhook', template: 'slack', url: `https://chat.test/${chat}` }],
    ['POST', '/snmp/users', { username: 'watcher', authPassphrase: snmp, privacyPassphrase: snmp }],
    ['PUT', '/oidc/config', { issuer: 'https://login.test', clientId: 'f', clientSecret: oidc }],
    [
      'POST',
      '/localUsers/users',
      { email: 'ann@corp.example', firstname: 'Ann', lastname: 'Lee', password, disabled: 'false' },
    ],
  ] as const
  for (const [method, path, body] of given) {
    const answer = await call(method, path, { body })
    test.ok(answer.status < 300, answer.text)
  }
  test.match(await run('diagnose -'), { exit: 0, out: /^\{\n {2}"madeAt"/ })
  test.match(await run(['diagnose', file]), { exit: 0, out: /no secrets/, err: /\/overview\n/ })
  const text = readFileSync(file, 'utf8')
  test.equal(statSync(file).mode & 0o777, 0o600)
  const { answers } = JSON.parse(text)
  test.match(answers, { '/services/apply': { state: 'idle' }, '/config/document': { version: 1 } })
  test.ok(answers['/audit?limit=200'].length > 4, 'the audit log')
  test.same(answers['/ipvsDirector/rips'], [], 'the state of real servers')
  test.notMatch(text, /PRIVATE KEY/)
  for (const secret of [token, ...secrets]) test.notOk(text.includes(secret))
  test.match(text, /ann@corp\.example/, 'pending changes are in it')
})
