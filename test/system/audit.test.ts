import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { checkState } from '../../src/daemon/check.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUNDS = Number(process.env['FULCRUM_TEST_AUDIT_KILLS'] ?? 4)

t.test(
  'kill -9 at any moment: everything that was answered is in the audit log, once, and the chain is whole',
  async (test) => {
    const daemon = await daemonFixture(test)
    const answered = new Set<string>()
    for (let round = 0; round < ROUNDS; round++) {
      let isOver = false
      const before = answered.size
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; !isOver; n++) {
          const body = { name: `web ${round}.${writer}.${n}`, ip: '192.0.2.1', port: 80 }
          const answer = await daemon.call('POST', '/ipvsDirector/rips', { body }).catch(() => undefined)
          if (answer === undefined) return
          test.equal(answer.status, 201)
          answered.add(answer.headers['x-request-id'] ?? '')
        }
      })
      await wait(60 + 37 * (round % 8))
      // A busy machine may not have answered any request yet.
      await until(
        'an answer',
        async () => answered.size,
        (count) => count > before,
      )
      await daemon.kill('SIGKILL')
      isOver = true
      await Promise.all(writers)
      await daemon.start()
      await daemon.login()
    }
    test.ok(answered.size >= ROUNDS)
    const noted: string[] = []
    for (let before: number | undefined; ;) {
      const page = await daemon.data(
        'GET',
        `/audit?limit=1000&endpoint=realServers.create${before === undefined ? '' : `&before=${before}`}`,
      )
      if (page.length === 0) break
      for (const { requestId, outcome } of page) if (outcome === 'done') noted.push(requestId)
      before = page.at(-1).seq
    }
    test.same(
      [...answered].filter((id) => !noted.includes(id)),
      [],
    )
    test.equal(new Set(noted).size, noted.length)
    await daemon.kill('SIGTERM')
    test.same(await checkState(daemon.state), [])
  },
)

t.test('--check finds a changed entry, and an end that was cut off', async (test) => {
  const daemon = await daemonFixture(test)
  for (let n = 0; n < 5; n++)
    await daemon.data('POST', '/ipvsDirector/rips', { name: `web ${n}`, ip: '192.0.2.1', port: 80 })
  await daemon.kill('SIGTERM')
  test.same(await checkState(daemon.state), [])
  const folder = join(daemon.state, 'audit')
  const path = join(folder, readdirSync(folder)[0] ?? '')
  const whole = readFileSync(path, 'utf8')
  writeFileSync(path, whole.replace('admin@localhost', 'guest@localhost'))
  test.match(await checkState(daemon.state), [/the line was changed/])
  writeFileSync(path, `${whole.split('\n').slice(0, 3).join('\n')}\n`)
  test.match(await checkState(daemon.state), [/were modified/])
  // The daemon starts all the same: an appliance without its API would be worse. It says what it found.
  await daemon.start()
  await daemon.login()
  test.match(daemon.stderr, /the audit log was tampered with/)
  await daemon.kill('SIGTERM')
  test.match(await checkState(daemon.state), [/are missing/, /were removed or inserted/], 'and it shows for ever')
})

t.test('no secret is in the audit log, the events or the log of the daemon', async (test) => {
  const daemon = await daemonFixture(test)
  const secrets = ['Sup3r-secret-one', 'Sup3r-secret-two', 'Sup3r-secret-three', 'Sup3r-secret-four']
  const [password, proxy, consolePassword, passphrase] = secrets
  const user = { email: 'x@localhost', firstname: 'X', lastname: 'Y', password, disabled: 'false' }
  await daemon.data('POST', '/localUsers/users', user)
  await daemon.call('POST', '/token', { body: { email: 'admin@localhost', password } })
  const settings = { enable: false, username: 'u', password: proxy }
  await daemon.data('PUT', `/${daemon.node}/system/proxy`, settings)
  await daemon.data('PUT', '/services/apply')
  const console = { apiPort: daemon.port, consoleEnabled: true, consolePassword }
  const done = [
    await daemon.call('PUT', `/${daemon.node}/system/userinterface`, { body: console }),
    await daemon.call('GET', '/backup', { headers: { 'x-backup-passphrase': passphrase ?? '' } }),
  ]
  for (const { status, text } of done) test.equal(status, 200, text.slice(0, 200))
  const entries = await daemon.data('GET', '/audit')
  test.ok(entries.length > 8)
  const applied = entries.find(
    ({ endpoint, outcome }: Record<string, string>) => endpoint === 'services.apply' && outcome === 'done',
  )
  const added = applied.live.find(({ resource }: { resource: string }) => resource === 'users')
  test.match(added, { op: 'create', name: 'x@localhost', by: 'admin@localhost' }, 'what went live, and who applied it')
  await daemon.kill('SIGTERM')
  const folder = join(daemon.state, 'audit')
  const text = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('')
  const store = new LmdbConfigStore(join(daemon.state, 'config'))
  const events = JSON.stringify(store.events.entries())
  await store.close()
  test.match(events, /"kind":"login".*"kind":"apply"/)
  for (const secret of secrets) {
    test.notOk(text.includes(secret), 'not in the audit log')
    test.notOk(events.includes(secret), 'not in an event')
    test.notOk(daemon.stderr.includes(secret), 'not in the log')
  }
  test.notMatch(text, /argon2/)
})
