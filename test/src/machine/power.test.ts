import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import type { Step } from '../../../src/drivers/driver.ts'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { OpenSessions } from '../../../src/model/machine-facts.ts'
import type { Job } from '../../../src/model/job.ts'
import { Power } from '../../../src/machine/power.ts'
import { acmeAccount, acmeOrder } from '../../fixtures/acme.ts'
import { applianceFixture } from '../../fixtures/appliance.ts'
import { machineMark } from '../../../src/base/process-mark.ts'
import { frontend, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'
import { until } from '../../fixtures/until.ts'

/** test/system/power.test.ts has a machine that really goes down. */

const REQUEST = { drain_s: 30, isForced: false, by: 'a@b' } as const

function fixture(
  test: Test,
  {
    sessions = [0] as OpenSessions[],
    oldSessions = [0] as (number | undefined)[],
    job = undefined as Partial<Job> | undefined,
    fails = false,
    lost = false,
    stuck = '',
    begun = undefined as object | undefined,
    isFull = false,
    away = Promise.resolve(),
    running = viewOf({ l7Frontends: [frontend('a', null), frontend('b', null)] }),
  } = {},
) {
  const memory: { power: unknown } = { power: begun ?? null }
  const clock = manualClock()
  const done: string[] = []
  const told: object[] = []
  /** The number of actions done when the others had taken over. */
  const departed: (readonly [string, boolean, number])[] = []
  const open = [...sessions]
  const old = [...oldSessions]
  const power = new Power({
    store: {
      getMeta: () => memory.power,
      putMeta: async (_, value) => {
        if (isFull) throw new Error('no space is left')
        memory.power = value
      },
    },
    clock,
    jobs: { running: () => job as Job | undefined },
    machine: {
      executor: {
        execute: async (steps: readonly Step[]) => {
          const [step] = steps
          if (step?.kind === 'socket') done.push(...step.commands.map(({ request }) => request))
          if (step?.kind !== 'run') return { ok: true, done: 1, recorded: 0, warnings: [] }
          done.push(step.argv.join(' '))
          if (!fails) return { ok: true, done: 1, recorded: 0, warnings: [] }
          return { ok: false, failedStep: 0, kind: 'run', why: 'x', output: 'not today', missing: false, undone: true }
        },
      },
      facts: {
        sessions: async () => {
          const now = open.length === 0 ? 0 : open.shift()
          done.push(`${now ?? 'unknown'} connections`)
          return now
        },
      },
      statsSocket: '/run/haproxy/admin.sock',
      touchesPackages: true,
    },
    layer7: {
      frontendSessions: () => (old.length === 0 ? 0 : old.shift()),
      waitTick: async () => void done.push('a poll'),
    },
    running,
    access: {
      assertStill: (author, endpoints) => {
        done.push(`may ${author.email} ${endpoints.join()}`)
        if (lost) throw new Error('the user is gone or disabled')
      },
    },
    departure: {
      refuse: async (isForced) => {
        if (stuck === 'before' && !isForced) throw new ApiError('IN_USE', 'no other node is ready')
      },
      begin: async (reason, isForced) => {
        departed.push([reason, isForced, done.length])
        await away
        if (stuck === 'later' && !isForced) throw new ApiError('IN_USE', 'no other node has taken it')
      },
    },
    events: { publish: (_, data) => void told.push(data) },
    log: silentLog,
  })
  test.teardown(() => power.close())
  return { power, done, told, departed, memory, clock }
}

t.test('no new connections, existing ones end, then the machine', async (test) => {
  const { power, done, told, departed } = fixture(test, { sessions: [2, 1, 0] })
  test.same(await power.request('reboot', REQUEST), { isDryRun: false })
  test.same(done, [], 'it is answered first')
  await until('end', async () => done.length === 7)
  test.same(done, [
    'disable frontend a',
    'disable frontend b',
    'a poll',
    '2 connections',
    '1 connections',
    '0 connections',
    'systemctl --no-wall --no-block reboot',
  ])
  test.match(told, [{ state: 'reboot begins', by: 'a@b' }])
  test.same(departed, [['reboot', false, 0]], 'votes and floating IPs are moved to other nodes first')
  await refuses(test, 'JOB_IN_PROGRESS', power.request('halt', REQUEST))
})

t.test('what distinguishes CAs and clients before a frontend takes no new connections either', async (test) => {
  const running = viewOf({
    acmeAccounts: [acmeAccount('x')],
    acmeOrders: [acmeOrder('o', 'x', { challenge: 'tls-alpn-01', names: ['a.test'] })],
    l7Frontends: [frontend('a', null, { ports: '443', certificates: ['c'] }), frontend('b', null)],
  })
  const { power, done } = fixture(test, { running })
  await power.request('reboot', REQUEST)
  await until('end', async () => done.some((line) => line.startsWith('systemctl')))
  test.same(done.slice(0, 3), ['disable frontend before_a', 'disable frontend a', 'disable frontend b'])
})

t.test('connections of old workers are waited for as well', async (test) => {
  const { power, done } = fixture(test, { sessions: [1, 0, 0], oldSessions: [2, 1, 0] })
  await power.request('reboot', REQUEST)
  await until('end', async () => done.some((line) => line.startsWith('systemctl')))
  test.equal(done.filter((line) => line === '0 connections').length, 2)
})

t.test('what HAProxy does not say is not taken for no connections', async (test) => {
  const { power, done } = fixture(test, { sessions: [undefined, 0, 0], oldSessions: [0, undefined, 0] })
  await power.request('reboot', REQUEST)
  await until('end', async () => done.some((line) => line.startsWith('systemctl')))
  test.same(done.slice(2), [
    'a poll',
    'unknown connections',
    '0 connections',
    '0 connections',
    'systemctl --no-wall --no-block reboot',
  ])
})

t.test('a HAProxy that does not run has no connections', async (test) => {
  const { power, done } = fixture(test, { sessions: ['not running'], oldSessions: [undefined] })
  await power.request('reboot', REQUEST)
  await until('end', async () => done.some((line) => line.startsWith('systemctl')))
  test.equal(done.filter((line) => line.endsWith('connections')).length, 1)
})

t.test('the time for connections is limited', async (test) => {
  const { power, done } = fixture(test, { sessions: [5, 5, 5] })
  await power.request('halt', { ...REQUEST, drain_s: 0 })
  await until('end', async () => done.some((line) => line.startsWith('systemctl')))
  test.same(done.slice(2), ['5 connections', 'systemctl --no-wall --no-block poweroff'])
})

t.test('a daemon that ends waits for no connections, and leaves the rest to its next start', async (test) => {
  const sessions = Array.from({ length: 1_000 }, () => 5)
  const { power, done, told, memory } = fixture(test, { sessions })
  await power.request('halt', { ...REQUEST, drain_s: 300 })
  await until('looks', async () => done.filter((line) => line === '5 connections').length === 2)
  power.close()
  const { length } = done
  // Longer than the interval of looks.
  await sleep(600)
  test.same([done.length, told.length], [length, 1], 'nothing more is done, and nothing has failed')
  test.match(memory.power, { change: 'halt' }, 'it is stored')
})

t.test('an error caused by the end of the daemon is no failed shutdown', async (test) => {
  const away = defer()
  const { power, done, told, departed, memory } = fixture(test, { away: away.promise })
  await power.request('halt', REQUEST)
  await until('departs', async () => departed.length === 1)
  power.close()
  away.reject(new Error('the cluster is closed'))
  await sleep(0)
  test.same([done, told.length], [[], 1])
  test.match(memory.power, { change: 'halt' }, 'the next start continues')
})

t.test('package changes in progress complete first, unless forced', async (test) => {
  const { power } = fixture(test, { job: { id: 'job-1', title: 'Software update' } })
  const error = await refuses(test, 'JOB_IN_PROGRESS', power.request('halt', REQUEST))
  test.match(error.message, /job-1.*force=true/)
  await power.request('halt', { ...REQUEST, isForced: true })
})

t.test('where the other nodes could not continue without it, it stays up, unless forced', async (test) => {
  const { power, done } = fixture(test, { stuck: 'before' })
  await refuses(test, 'IN_USE', power.request('reboot', REQUEST))
  power.refuseGoingDown()
  const late = fixture(test, { stuck: 'later' })
  await late.power.request('reboot', REQUEST)
  await until('told', async () => late.told.length === 2)
  test.match(late.told[1], { state: 'reboot failed', reason: 'no other node has taken it' })
  test.notOk(late.done.some((line) => line.startsWith('systemctl') || line.startsWith('disable')))
  await power.request('reboot', { ...REQUEST, isForced: true })
  await until('end', async () => done.at(-1) === 'systemctl --no-wall --no-block reboot')
})

t.test('a machine that stays up accepts connections again, and can be asked again', async (test) => {
  const { power, done, told } = fixture(test, { fails: true })
  await power.request('reboot', REQUEST)
  await until('end', async () => done.at(-1) === 'enable frontend b')
  test.match(told.at(-1), { state: 'reboot failed', reason: 'not today' })
  await until('again', async () => {
    try {
      await power.request('reboot', REQUEST)
      return true
    } catch {
      return false
    }
  })
})

t.test('a disk that refuses writes stops neither the daemon nor the next steps', async (test) => {
  const { power, done, told } = fixture(test, { isFull: true })
  await power.request('reboot', REQUEST)
  await until('told', async () => told.length === 2)
  test.match(told[1], { state: 'reboot failed', reason: 'no space is left' })
  await until('over', async () => !power.isGoingDown)
  test.same(done, ['enable frontend a', 'enable frontend b'])
})

t.test('in trial it is recorded, and HAProxy is left alone', async (test) => {
  const { call, node, machine } = await applianceFixture(test)
  for (const [change, verb] of [
    ['halt', 'poweroff'],
    ['reboot', 'reboot'],
  ] as const) {
    machine.host.takeJournal()
    const answer = await call('PUT', `/${node}/system/${change}`)
    test.match(answer, { status: 200, headers: { 'X-Dry-Run': 'true' }, json: { data: [] } })
    await until('record', async () => machine.host.journal.length > 0)
    test.match(machine.host.journal, [{ verb: 'run', argv: ['systemctl', '--no-wall', '--no-block', verb] }])
  }
})

t.test('a daemon that is restarted while the machine goes down continues with it', async (test) => {
  const deadline_ms = manualClock().uptime_ms() + 1000
  const begun = { change: 'reboot', by: 'a@b', machine: machineMark(), deadline_ms }
  const { power, done, told, memory } = fixture(test, { sessions: [3, 0], begun })
  await power.resume()
  await refuses(test, 'JOB_IN_PROGRESS', () => power.refuseGoingDown())
  await until('end', async () => done.at(-1) === 'systemctl --no-wall --no-block reboot')
  test.same(done.slice(0, 2), ['disable frontend a', 'disable frontend b'])
  test.match(told, [{ state: 'reboot begins', by: 'a@b' }])
  test.match(memory.power, { change: 'reboot' }, 'until the machine is another one')
})

t.test(
  'nobody expects it any more after the daemon was stopped for long: connections are taken again',
  async (test) => {
    const deadline_ms = manualClock().uptime_ms() - 600_000
    const begun = { change: 'halt', by: 'a@b', machine: machineMark(), deadline_ms }
    const { power, done, told, memory } = fixture(test, { begun })
    await power.resume()
    test.same(done, ['enable frontend a', 'enable frontend b'])
    test.match(told, [{ state: 'halt failed', reason: 'the daemon was stopped in the meantime' }])
    test.equal(memory.power, null)
    power.refuseGoingDown()
  },
)

t.test('a machine that was restarted since has done it', async (test) => {
  const machine = { ...machineMark(), startedAt: '1' }
  const begun = { change: 'reboot', by: 'a@b', machine, deadline_ms: 1e12 }
  const { power, done, memory } = fixture(test, { begun })
  await power.resume()
  test.same(done, [])
  test.equal(memory.power, null)
})

t.test('a failed one is forgotten', async (test) => {
  const { power, done, memory } = fixture(test, { fails: true })
  await power.request('reboot', { ...REQUEST, drain_s: 0 })
  await until('memory', async () => memory.power !== null)
  await until('enabled', async () => done.includes('enable frontend b'))
  await until('forgotten', async () => memory.power === null)
  power.refuseGoingDown()
})

t.test('a user who lost the right while connections ended takes nothing down', async (test) => {
  const author = { userId: 'u', email: 'a@b', sessionId: 's' }
  const { power, done, told, memory } = fixture(test, { lost: true })
  await power.request('halt', { ...REQUEST, author })
  await until('told', async () => told.length === 2)
  test.match(told[1], { state: 'halt failed', reason: /gone or disabled/ })
  await until('forgotten', async () => memory.power === null)
  test.ok(done.includes('may a@b power.halt'))
  test.notOk(done.some((line) => line.startsWith('systemctl')))
  test.ok(done.includes('enable frontend a'))
})
