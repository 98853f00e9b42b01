import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { SideTable } from '../../../../storage/config/config-store.ts'
import { ApiError } from '../../../../src/base/errors.ts'
import { silentLog } from '../../../../src/base/log.ts'
import { Jobs } from '../../../../src/jobs/jobs.ts'
import type { NodeUpdate, NodeUpdateTold } from '../../../../src/machine/updates/node-update.ts'
import { RollingUpdate, type SeenNode } from '../../../../src/machine/updates/rolling-update.ts'
import { packageOf } from '../../../../src/machine/units.ts'
import { openStore, refuses } from '../../../fixtures/config.ts'
import { manualClock } from '../../../fixtures/manual-clock.ts'

/** test/system/rolling-update.test.ts has real programs. */

const AUTHOR = { userId: 'u', email: 'ann', sessionId: 's' }

/** Nodes whose updates take three looks, of which `a` has a floating IP. */
class Site {
  readonly clock = manualClock()
  readonly table: SideTable
  readonly begun: string[] = []
  readonly told: object[] = []
  readonly looksLeft = new Map<string, number>()
  readonly versions = new Map(['a', 'b', 'c'].map((id) => [id, '1']))
  readonly nodes = new Map(['a', 'b', 'c'].map((id) => [id, seen(id)]))
  /** Runs when a node's update ends. */
  onEnd: (id: string) => void = () => undefined
  away = ''
  problem = ''
  refusal = ''
  lost = false
  isOver = false

  constructor(test: Test) {
    this.table = openStore(test).jobs
  }

  see(id: string, more: Partial<SeenNode>): void {
    this.nodes.set(id, { ...seen(id), ...more })
  }

  #ask(id: string, { jobId, name }: NodeUpdate): NodeUpdateTold {
    if (this.away === id) throw new Error('it refuses connections')
    const told = { step: 'install', version: this.versions.get(id) ?? '', isOwn: name === 'fulcrum', sequence: 5 }
    if (this.refusal !== '') return { ...told, refused: this.refusal }
    const left = this.looksLeft.get(jobId) ?? 3
    if (left === 3) this.begun.push(id)
    this.looksLeft.set(jobId, left - 1)
    if (left > 1) return { ...told, state: 'running' }
    if (this.problem === id) return { ...told, state: 'failed', problem: 'no space' }
    if (left === 1) {
      this.versions.set(id, '2')
      this.onEnd(id)
    }
    return { ...told, version: this.versions.get(id) ?? '', state: 'succeeded', changed: { name, from: '1', to: '2' } }
  }

  /** A run of the leading daemon. */
  daemon() {
    const jobs = new Jobs(this.table, { publish: () => undefined }, this.clock, silentLog)
    const rolling = new RollingUpdate({
      jobs,
      packageOf,
      look: async () => ({ sequence: 5, nodes: [...this.nodes.values()] }),
      ask: async (id, update) => this.#ask(id, update),
      access: {
        assertStill: () => {
          if (this.lost) throw new ApiError('PERMISSION_DENIED', 'no role grants it')
        },
      },
      isDryRun: false,
      tell: (data) => void this.told.push(data),
      clock: this.clock,
      wait: async (ms, signal) => {
        await turn()
        if (this.isOver) await new Promise(() => undefined)
        signal.throwIfAborted()
        this.clock.advance(ms)
      },
    })
    const ended = async (id: string) => {
      while (jobs.get(id).state === 'running') await turn()
      return jobs.get(id)
    }
    return { jobs, rolling, ended }
  }
}

const seen = (id: string): SeenNode => ({
  id,
  name: id,
  isReached: true,
  isVoter: true,
  isMaintained: false,
  isReady: true,
  holds: id === 'a' ? 1 : 0,
})

t.test('one node after another, holders of addresses last', async (t) => {
  const site = new Site(t)
  const { rolling, ended } = site.daemon()
  const { job } = await rolling.start('webui', AUTHOR)
  await refuses(t, 'JOB_IN_PROGRESS', rolling.start('webui', AUTHOR))
  const { state, result, log } = await ended(job)
  t.equal(state, 'succeeded')
  t.same(site.begun, ['b', 'c', 'a'])
  t.match(result, {
    package: 'fulcrum',
    nodes: [{ nodeId: 'b', from: '1', to: '2' }, { nodeId: 'c' }, { nodeId: 'a' }],
  })
  t.same(log[0], 'b is updated from 1 to 2, and is healthy')
  t.match(site.told[0], { state: 'node updated', nodeId: 'b', version: '2' })
})

t.test('it stops at the first that does not recover, and says why', async (t) => {
  const AILMENTS: readonly (readonly [RegExp, (site: Site) => void])[] = [
    [/stopped at c: no space\. Updated before: b\. Not started: a/, (site) => (site.problem = 'c')],
    [/at c: it cannot be reached/, (site) => site.see('c', { isReached: false })],
    [/at c: it does not answer: it refuses connections/, (site) => (site.away = 'c')],
    [/at c: it has no vote/, (site) => site.see('c', { isVoter: false })],
    [/at c: it is in maintenance/, (site) => site.see('c', { isMaintained: true })],
    [/at c: it is not ready/, (site) => site.see('c', { isReady: false })],
    [/at c: it is no longer in the cluster/, (site) => site.nodes.delete('c')],
    [/at c: it runs version 1, although 2 is installed/, (site) => site.versions.set('c', '1')],
  ]
  for (const [words, befalls] of AILMENTS) {
    const site = new Site(t)
    const { rolling, ended } = site.daemon()
    // In its turn, so that all were well before.
    site.onEnd = (id) => (id === 'c' || words.source.includes('no space') ? befalls(site) : undefined)
    const { state, problem } = await ended((await rolling.start('webui', AUTHOR)).job)
    t.match([state, problem?.code, problem?.message], ['failed', 'APPLY_PARTIAL', words])
    t.notOk(site.begun.includes('a'), 'the next one is not begun')
  }
})

t.test('a node that is well only for a moment does not count', async (t) => {
  const site = new Site(t)
  const { rolling, ended } = site.daemon()
  let looks = 0
  Object.defineProperty(site.nodes.get('b'), 'isVoter', { get: () => (looks += 1) % 3 !== 0 })
  const { problem } = await ended((await rolling.start('webui', AUTHOR)).job)
  t.match(problem?.message, /stopped at b/)
})

t.test('it waits for a node that cannot begin yet', async (t) => {
  const site = new Site(t)
  const { jobs, rolling, ended } = site.daemon()
  site.refusal = 'the configuration is being applied'
  const { job } = await rolling.start('ntp', AUTHOR)
  while (!jobs.get(job).step.includes('being applied')) await turn()
  site.refusal = ''
  t.equal((await ended(job)).state, 'succeeded')
})

t.test('the next start of the daemon continues after a kill, and begins no node twice', async (t) => {
  for (const kills of [1, 4, 9, 14, 20]) {
    const site = new Site(t)
    const before = site.daemon()
    const { job } = await before.rolling.start('webui', AUTHOR)
    for (let step = 0; step < kills * 2; step++) await turn()
    site.isOver = true
    await turn()
    await turn()
    site.isOver = false
    const { jobs, rolling, ended } = site.daemon()
    jobs.resume(rolling.kinds)
    t.equal((await ended(job)).state, 'succeeded')
    t.same(site.begun, ['b', 'c', 'a'])
  }
})

t.test('the author must have the right for each node, and may stop it between two', async (t) => {
  const site = new Site(t)
  const first = site.daemon()
  site.onEnd = () => (site.lost = true)
  const { problem } = await first.ended((await first.rolling.start('webui', AUTHOR)).job)
  t.match(problem, { code: 'PERMISSION_DENIED' })
  t.same(site.begun, ['b'])
  site.lost = false
  const { job } = await first.rolling.start('webui', AUTHOR)
  while (!first.jobs.get(job).canCancel) await turn()
  first.jobs.cancel(job)
  t.equal((await first.ended(job)).state, 'cancelled')
})

t.test('before anything begins all nodes are well', async (t) => {
  const site = new Site(t)
  const { rolling } = site.daemon()
  await refuses(t, 'NOT_FOUND', rolling.start('none', AUTHOR))
  await refuses(t, 'NOT_SUPPORTED', rolling.start('healthchecks', AUTHOR))
  for (const [code, more] of [
    ['NODE_UNREACHABLE', { isReached: false }],
    ['IN_USE', { isMaintained: true }],
    ['IN_USE', { isVoter: false }],
  ] as const) {
    site.see('c', more)
    await refuses(t, code, rolling.start('webui', AUTHOR))
  }
  t.same(site.begun, [])
})
