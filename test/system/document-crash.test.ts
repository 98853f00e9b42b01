import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { stringify } from 'yaml'
import t from 'tap'
import { fulcrum } from '../fixtures/cli.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'

const ROUNDS = Number(process.env['FULCRUM_TEST_DOCUMENT_KILLS'] ?? 6)
const SEED = Number(process.env['FULCRUM_TEST_DOCUMENT_SEED'] ?? randomInt(1, 2 ** 31))
const SERVERS = 40

/** Numbers from 0 to 1 that follow from a seed (Lehmer's generator). */
function* randoms(seed: number): Generator<number, never> {
  for (let now = seed; ;) {
    now = (now * 48_271) % 2_147_483_647
    yield now / 2_147_483_647
  }
}

/** Two configurations that differ in every record, each with records that the other lacks. */
function documentOf(kind: 'one' | 'two', port: number) {
  const isOne = kind === 'one'
  const name = (at: number) => (at % 2 === 0 ? `web-${at}` : `${kind}-${at}`)
  const names = Array.from({ length: SERVERS }, (_, at) => name(at))
  const realServers = Object.fromEntries(
    names.map((own, at) => [own, { ip: `127.9.${isOne ? 1 : 2}.${at + 1}`, port: 80 }]),
  )
  const reals = names.map((ripId) => ({ ripId, weight: isOne ? 10 : 20 }))
  const backend = { mode: 'http', reals, healthCheck: { type: 'none' }, timeoutServer: isOne ? 30 : 40 }
  const frontend = {
    mode: 'http',
    ip: '127.0.0.1',
    ports: String(port),
    defaultBackendId: kind,
    timeoutClient: isOne ? 31 : 41,
  }
  return { version: 1, owner: 'site', realServers, l7Backends: { [kind]: backend }, l7Frontends: { site: frontend } }
}

t.test(
  'kill -9 while a file is applied leaves the old configuration or that of the file, and never a mixture',
  { timeout: 600_000 },
  async (test) => {
    test.comment(`FULCRUM_TEST_DOCUMENT_SEED=${SEED}`)
    const random = randoms(SEED)
    const daemon = await daemonFixture(test)
    const folder = temporaryFolder(test, 'documents')
    const port = await freePort()
    const fileOf = (kind: 'one' | 'two') => {
      const path = join(folder, `${kind}.yaml`)
      writeFileSync(path, stringify(documentOf(kind, port)))
      return path
    }
    const files = { one: fileOf('one'), two: fileOf('two') }
    const env = { HOME: folder, FULCRUM_URL: `unix:${join(daemon.state, 'api.sock')}` }
    const run = (...args: readonly string[]) => fulcrum(args, env)
    const apply = (kind: 'one' | 'two') => run('apply', '-f', files[kind], '--prune', '--yes')
    const changesTo = async (kind: 'one' | 'two') => {
      const planned = await run('plan', '-f', files[kind], '--prune', '--json')
      test.ok(planned.exit === 0 || planned.exit === 2, planned.err)
      return JSON.parse(planned.out).changes.length as number
    }
    test.match(await apply('one'), { exit: 0 })
    const began_ms = performance.now()
    test.match(await apply('two'), { exit: 0 })
    const apply_ms = performance.now() - began_ms
    const whole = await changesTo('one')
    test.ok(whole > SERVERS, 'nearly every record differs')

    const outcomes = new Set<boolean>()
    let [now, next]: ['one' | 'two', 'one' | 'two'] = ['two', 'one']
    for (let round = 0; round < ROUNDS; round += 1) {
      const { revision: before } = await daemon.data('GET', '/services/pending')
      // The kills cover the duration of the apply, and the last one comes after the answer.
      const delay_ms = apply_ms * ((round + random.next().value) / ROUNDS) ** 2
      const going = apply(next)
      if (round < ROUNDS - 1) await wait(delay_ms)
      else await going
      await daemon.kill('SIGKILL')
      const { exit, err } = await going
      await daemon.start()
      await daemon.login()
      const { revision, count } = await daemon.data('GET', '/services/pending')
      const isNew = revision === before + 1
      const title = `round ${round}, killed after ${delay_ms.toFixed(0)} ms of ${apply_ms.toFixed(0)}: ${isNew ? 'new' : 'old'}`
      test.comment(title)
      test.ok(isNew || revision === before, `${title}: revision ${before} → ${revision}`)
      test.equal(count, 0, `${title}: the edits of a plan are never pending`)
      if (exit === 0) test.ok(isNew, `${title}: an answered apply is kept`)
      else test.match(err, /cannot be reached/, title)
      outcomes.add(isNew)
      if (isNew) [now, next] = [next, now]
      test.same(
        [await changesTo(now), await changesTo(next)],
        [0, whole],
        `${title}: another plan has nothing or everything`,
      )
      const marks = { one: 'weight 10 ', two: 'weight 20 ' }
      await until(
        'the file of HAProxy to be of one of them',
        async () => readFileSync(join(daemon.state, 'haproxy', 'haproxy.cfg'), 'utf8'),
        (text) => text.includes(marks[now]) && !text.includes(marks[next]),
      )
    }
    test.equal(outcomes.size, 2, 'some kills came before the apply was stored, some after')
    test.match(await apply(next), { exit: 0 }, 'and it can be applied')
    test.equal(await changesTo(next), 0)
  },
)
