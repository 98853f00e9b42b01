import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createUser, PASSWORD, roleIds } from '../attack/attack-fixture.ts'
import { Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const argsOf = (threads: number) => ['--no-demo', '--front-threads', `${threads}`]
/** Without front threads, the answering thread has its own cache. */
const BOTH = [0, 2]

/** Statuses of so many polls in sequence, on more connections than there are threads. */
async function polls(daemon: Daemon, token: string, path: string): Promise<ReadonlySet<number>> {
  const asked = Array.from({ length: 12 }, async () => (await daemon.call('GET', path, { token })).status)
  return new Set(await Promise.all(asked))
}

async function fixture(test: Test, threads: number) {
  const daemon = await daemonFixture(test, argsOf(threads))
  const live = `/${daemon.node}/layer7proxy/stats/rips`
  const end = Math.floor(Date.now() / 1_000) - 10
  const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '192.0.2.1', port: 80 })
  const history = `${live}/${id}/history?start=${end - 60}&end=${end}`
  const readOnly = (await roleIds((...asked) => daemon.call(...asked)))['Monitoring'] ?? ''
  const reader = await createUser((...asked) => daemon.call(...asked), 'reader@localhost', [readOnly])
  await daemon.data('PUT', '/services/apply')
  const login = async () => {
    const body = { email: 'reader@localhost', password: PASSWORD }
    return String((await daemon.call('POST', '/token', { body, token: '' })).json.data.token)
  }
  return { daemon, live, history, ripId: String(id), reader, readOnly, login }
}

for (const threads of BOTH) {
  t.test(`a caller that loses access is refused with the next request: ${threads} threads in front`, async (test) => {
    const { daemon, live, history, reader, login } = await fixture(test, threads)
    const ends: Readonly<Record<string, (token: string) => Promise<unknown>>> = {
      'a logout': (token) => daemon.call('DELETE', '/token', { token }),
      'a session that an administrator ends': async () => {
        const sessions: readonly { readonly id: string; readonly userId: string }[] = await daemon.data(
          'GET',
          '/localUsers/sessions',
        )
        for (const { id, userId } of sessions)
          if (userId === reader) await daemon.data('DELETE', `/localUsers/sessions/${id}`)
      },
      'a role that is removed': async () => {
        await daemon.data('PUT', `/localUsers/users/${reader}`, { roles: [] })
        await daemon.data('PUT', '/services/apply')
      },
      'a user who was deleted': async () => {
        await daemon.data('DELETE', `/localUsers/users/${reader}`)
        await daemon.data('PUT', '/services/apply')
      },
    }
    for (const [what, end] of Object.entries(ends)) {
      const token = await login()
      for (const path of [live, history])
        test.same(await polls(daemon, token, path), new Set([what.includes('deleted') ? 403 : 200]), `before ${what}`)
      await end(token)
      for (const path of [live, history])
        test.same(await polls(daemon, token, path), new Set([what.includes('role') ? 403 : 401]), what)
    }
  })

  t.test(
    `an API token counts until it is revoked, and for its endpoints only: ${threads} threads in front`,
    async (test) => {
      const { daemon, live } = await fixture(test, threads)
      const table: readonly { readonly id: string; readonly path: string }[] = await daemon.data(
        'GET',
        '/rbac/endpoints',
      )
      const granted = table.filter(({ path }) => path.endsWith('/layer7proxy/stats/rips')).map(({ id }) => id)
      const wanted = { name: 'poller', endpoints: granted }
      const { id, token } = await daemon.data('POST', '/localUsers/me/tokens', wanted)
      test.same(await polls(daemon, token, live), new Set([200]))
      test.same(await polls(daemon, token, live.replace('/rips', '/backends')), new Set([403]))
      await daemon.data('DELETE', `/localUsers/me/tokens/${id}`)
      test.same(await polls(daemon, token, live), new Set([401]))
    },
  )

  t.test(`discarded changes are gone with the next poll: ${threads} threads in front`, async (test) => {
    const { daemon, live, ripId, history } = await fixture(test, threads)
    const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'staged', ip: '192.0.2.2', port: 80 })
    const window = history.slice(history.indexOf('?') + 1)
    const paths = [history.replace(ripId, id), `${live}/history?ids=${ripId},${id}&${window}`]
    for (const path of paths) test.same(await polls(daemon, await daemon.login(), path), new Set([200]), path)
    await daemon.data('DELETE', `/ipvsDirector/rips/${id}`)
    const after = await Promise.all(paths.map((path) => daemon.call('GET', path)))
    test.same(
      after.map(({ status }) => status),
      [404, 422],
    )
  })

  t.test(`the changes of an apply are in the next poll: ${threads} threads in front`, async (test) => {
    const { daemon, live, ripId: id } = await fixture(test, threads)
    const body = { name: 'first', ip: '192.0.2.1', port: 80 }
    await daemon.data('PUT', `/ipvsDirector/rips/${id}`, body)
    await daemon.data('POST', '/layer7proxy/backends', { name: 'pool', mode: 'http', reals: [{ ripId: id }] })
    await daemon.data('PUT', '/services/apply')
    const names = async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => daemon.call('GET', live)))
      return new Set(answers.flatMap(({ json }) => json.data.map(({ name }: { readonly name: string }) => name)))
    }
    test.same(await names(), new Set(['first']))
    for (const name of ['second', 'third', 'fourth']) {
      await daemon.data('PUT', `/ipvsDirector/rips/${id}`, { ...body, name })
      await daemon.data('PUT', '/services/apply')
      test.same(await names(), new Set([name]))
    }
  })
}

t.test('killed at any time, it serves again; stopped, it finishes its requests', async (test) => {
  const state = temporaryFolder(test, 'fronts')
  const daemon = new Daemon(state, argsOf(2))
  test.teardown(() => daemon.end())
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await daemon.start()
    await daemon.login()
    test.ok(existsSync(join(state, 'fronts.sock')))
    test.same(await polls(daemon, '', '/ping'), new Set([200]))
    const answered = daemon.data('POST', '/ipvsDirector/rips', { name: signal, ip: '192.0.2.1', port: 80 })
    await answered
    test.equal(await daemon.kill(signal), signal === 'SIGTERM' ? 0 : null)
  }
  await daemon.start()
  await daemon.login()
  const kept: readonly { readonly name: string }[] = await daemon.data('GET', '/ipvsDirector/rips')
  test.same(new Set(kept.map(({ name }) => name)), new Set(['SIGKILL', 'SIGTERM']))
})
