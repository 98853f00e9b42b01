import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { createUser, PASSWORD, roleIds } from './attack-fixture.ts'
import { felt, type Figures, textOf } from './bystander.ts'
import { flooding, type Statuses } from './flooder.ts'
import { connected } from './raw-fixture.ts'

/** Requests of the bystander per round; more in the long run: FULCRUM_ATTACK_REQUESTS_FELT=1000. */
const REQUESTS = Number(process.env['FULCRUM_ATTACK_REQUESTS_FELT'] ?? 10)
const WIDTH = 24
t.setTimeout(0)

interface Low {
  /** Tokens of one user each, whose roles are of little other use. */
  readonly monitoring: string
  readonly auditor: string
}

async function fixture(test: Test): Promise<{ readonly daemon: Daemon; readonly low: Low }> {
  const daemon = await daemonFixture(test)
  const call = daemon.call.bind(daemon)
  const roles = await roleIds(call)
  for (const name of ['Monitoring', 'Auditor']) await createUser(call, `${name}@localhost`, [roles[name] ?? ''])
  const reals = []
  for (let n = 1; n <= 20; n += 1) {
    const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: `web ${n}`, ip: `127.1.0.${n}`, port: 80 })
    reals.push({ ripId: id })
  }
  const backend = { name: 'web', mode: 'http', reals, healthCheck: { type: 'none' } }
  await daemon.data('POST', '/layer7proxy/backends', backend)
  await daemon.data('PUT', '/services/apply')
  const tokenOf = async (name: string) => {
    const body = { email: `${name}@localhost`, password: PASSWORD }
    return String((await daemon.data('POST', '/token', body)).token)
  }
  return { daemon, low: { monitoring: await tokenOf('Monitoring'), auditor: await tokenOf('Auditor') } }
}

const told = (statuses: Statuses) => [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')

t.test(
  'availability: a flood from a low role delays no other user, and is refused where it has a limit',
  async (test) => {
    const { daemon, low } = await fixture(test)
    const now = Math.floor(Date.now() / 1000)
    const backend = (await daemon.data('GET', '/layer7proxy/backends'))[0].id
    const history = `/${daemon.node}/layer7proxy/stats/rips/backend/${backend}/history?start=${now - 3600}&end=${now}&resolution=1`
    const search = '/audit?text=nothing+has+this'
    const own = { email: 'Monitoring@localhost', password: PASSWORD }
    const floods: readonly (readonly [string, string, string, string, string, object?])[] = [
      ['long histories', low.monitoring, 'GET', history, history],
      ['searches of the audit log', low.auditor, 'GET', search, search],
      ['lists of all sessions', low.auditor, 'GET', '/localUsers/me/sessions', '/localUsers/sessions'],
      ['logins', '', 'POST', '/token', '/localUsers/sessions', own],
    ]
    const calm: Record<string, Figures> = {}
    for (const path of new Set(['/services', ...floods.map((each) => each[4])]))
      calm[path] = await felt(daemon, 2, REQUESTS, path)
    for (const [what, token, method, path, same, body] of floods) {
      const flood = () => flooding({ port: daemon.port, token, method, path, body, width: WIDTH })
      const stop = await flood()
      const other = await felt(daemon, 2, REQUESTS)
      // Every request of the same kind is answered as well, or this throws.
      const alike = await felt(daemon, 2, 5, same)
      const statuses = await stop()
      test.comment(
        `${what}: ${textOf(other, calm['/services'])}; requests of the same kind: ${textOf(alike, calm[same])}; ${told(statuses)}`,
      )
      test.ok(![...statuses.keys()].some((status) => status >= 500), `${what}: ${told(statuses)}`)
      if (what !== 'searches of the audit log') continue
      // On a busy machine each may be over before the third arrives.
      let found = statuses
      for (let again = 0; again < 20 && !found.has(429); again += 1) {
        const stopAgain = await flood()
        await felt(daemon, 2, 5)
        found = await stopAgain()
      }
      test.ok(found.has(429), 'one user has at most two at once')
    }
    for (let n = 0; n < 51; n += 1) await freshToken(daemon)
    const mine = await daemon.call('GET', '/localUsers/me/sessions', { token: await freshToken(daemon) })
    test.equal(mine.json.data.length, 50, 'the oldest have ended')
    test.equal((await daemon.call('GET', '/services', { token: low.monitoring })).status, 401, 'among them the first')
    const { data } = (await daemon.call('GET', '/audit?endpoint=auth.login&outcome=done&limit=1')).json
    test.match(data[0], { by: 'Monitoring@localhost', endedSessions: [String] })
  },
)

const freshToken = async (daemon: Daemon) =>
  String((await daemon.data('POST', '/token', { email: 'Monitoring@localhost', password: PASSWORD })).token)

t.test('availability: one user cannot have all streams, nor all places for long answers', async (test) => {
  const { daemon, low } = await fixture(test)
  const before = await felt(daemon, 2, REQUESTS)
  const roles = await roleIds(daemon.call.bind(daemon))
  await createUser(daemon.call.bind(daemon), 'watcher@localhost', [roles['Administrator'] ?? ''])
  await daemon.data('PUT', '/services/apply')
  const watcher = String(
    (await daemon.data('POST', '/token', { email: 'watcher@localhost', password: PASSWORD })).token,
  )
  const sockets: Socket[] = []
  test.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const statuses: number[] = []
  for (let n = 0; n < 100; n += 1) {
    const socket = await connected('tls', daemon.port)
    sockets.push(socket)
    socket.on('error', () => undefined)
    const head = new Promise<string>((resolve) => socket.once('data', (part: Buffer) => resolve(part.toString())))
    socket.write(`GET /api/v1/events?after=0 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${watcher}\r\n\r\n`)
    statuses.push(Number((await head).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)))
  }
  test.equal(statuses.filter((status) => status === 200).length, 32)
  test.equal(statuses.filter((status) => status === 429).length, 68)
  const own = await connected('tls', daemon.port)
  sockets.push(own)
  own.write(`GET /api/v1/events?after=0 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${await daemon.login()}\r\n\r\n`)
  test.match(
    await new Promise((resolve) => own.once('data', (part: Buffer) => resolve(part.toString()))),
    /^HTTP\/1\.1 200/,
  )
  test.comment(`32 streams of one user: ${textOf(await felt(daemon, 2, REQUESTS), before)}`)
  test.equal((await daemon.call('GET', '/services', { token: low.monitoring })).status, 200)
})
