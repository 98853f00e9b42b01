/**
 * Random life of a real daemon with a real HAProxy: concurrent edits, applies, discards and drains, while it is killed,
 * its disk is full and its HAProxy hangs or dies; a model that knows nothing of the daemon judges the answers.
 * `FULCRUM_TEST_LIFE_SECONDS=3600 npx tap --timeout=4500 test/oracle/life.test.ts`; `FULCRUM_TEST_LIFE_SEED` chooses
 * another life, `FULCRUM_TEST_LIFE_FAULT` the faults with these words in their names.
 */
import t, { type Test } from 'tap'
import { checkState } from '../../src/daemon/check.ts'
import { notedIn } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { seededRandom } from '../storage/archive/reference-model.ts'
import { applier, discarder, drainer, editor, type Play, weightOf } from './life-cast.ts'
import { FAULTS, strike } from './life-faults.ts'
import { violations } from './life-history.ts'
import { haproxyServers, lifeWorld, traffic, type World } from './life-world.ts'

const SECONDS = Number(process.env['FULCRUM_TEST_LIFE_SECONDS'] ?? 10)
const SEED = Number(process.env['FULCRUM_TEST_LIFE_SEED'] ?? 15)
const EDITORS = 6
const APPLIERS = 2
t.setTimeout((SECONDS + 1_800) * 1_000)
const skip = process.getuid?.() === 0 ? false : 'needs root for a filesystem of its own'

/** One act: all clients work until the faults are over; afterwards all have stopped. */
async function act(play: Play, faults: readonly string[]): Promise<void> {
  const client = traffic(play.world)
  play.isOver = false
  const cast = [
    ...Array.from({ length: EDITORS }, () => editor(play)),
    ...Array.from({ length: APPLIERS }, () => applier(play)),
    discarder(play),
    drainer(play),
  ]
  const outages: (readonly [number, number])[] = []
  try {
    for (const fault of faults) {
      await new Promise((resolve) => setTimeout(resolve, 500 + play.random() * 1_500))
      const outage = await strike(play, fault)
      if (outage !== undefined) outages.push(outage)
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  } finally {
    play.isOver = true
    await Promise.all(cast)
    const { failed } = await client.stop()
    const unexplained = failed.filter((at) => !outages.some(([from, to]) => at >= from && at <= to))
    if (unexplained.length > 0)
      play.problems.push(`${unexplained.length} requests of clients failed during ${faults.join(', ')}`)
  }
}

/** Each problem once, with its number of occurrences. */
function counted(problems: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const problem of problems) counts.set(problem, (counts.get(problem) ?? 0) + 1)
  return [...counts].map(([problem, count]) => `${count} × ${problem}`)
}

/** After the last edit: pending changes are applied, and HAProxy has the state that the API shows. */
async function settled(test: Test, { daemon, rips }: World, world: World): Promise<void> {
  const applied = await until(
    'an apply',
    () => daemon.call('PUT', '/services/apply'),
    ({ status }) => status === 200,
  )
  test.equal(applied.status, 200)
  const { changes } = await daemon.data('GET', '/services/pending')
  test.same(changes, [], 'nothing is pending')
  const shown = await haproxyServers(world)
  for (const rip of rips) {
    const { state, weight } = await daemon.data('GET', `/ipvsDirector/rips/${rip}`)
    // A server that is out has its last weight, which has no effect.
    const expected = { online: `no check ${weight}$`, drained: 'DRAIN 0$', halted: 'MAINT ' }[String(state)]
    test.match(shown.get(rip), new RegExp(`^${expected}`), `${rip} is ${state}`)
  }
}

/** Each answered change has its entry. */
async function audited(
  test: Test,
  { daemon, answered }: Pick<World, 'daemon'> & Pick<Play, 'answered'>,
): Promise<void> {
  const noted = await notedIn(daemon)
  const missing = answered.filter((id) => !noted.has(id))
  test.same(missing, [], `${answered.length} answered changes, each with its entry`)
}

/** Revisions without a gap, each beginning with the end of the previous one. */
async function contiguous(test: Test, { daemon }: World): Promise<void> {
  const revisions: { revision: number }[] = await daemon.data('GET', '/revisions?limit=1000')
  const numbers = revisions.map(({ revision }) => revision)
  test.same(
    numbers,
    numbers.map((_, at) => (numbers[0] ?? 0) - at),
  )
}

t.test(`a life of ${SECONDS} s, seed ${SEED}`, { skip, timeout: (SECONDS + 1_800) * 1_000 }, async (test) => {
  const world = await lifeWorld(test, SECONDS)
  const { daemon, rips } = world
  const random = seededRandom(SEED)
  const pace = Math.max(1, SECONDS / 600)
  const play: Play = {
    world,
    random,
    pace,
    applyPause_ms: Math.max(150, 3 * SECONDS),
    writes: [],
    reads: [],
    problems: [],
    answered: [],
    fault: '',
    isOver: false,
  }
  for (const record of rips) {
    const { name } = await daemon.data('GET', `/ipvsDirector/rips/${record}`)
    play.writes.push({ record, value: name, begin: 0, end: 0, outcome: 'done' })
  }
  const names = Object.keys(FAULTS).filter((name) => name.includes(process.env['FULCRUM_TEST_LIFE_FAULT'] ?? ''))
  const end_ms = performance.now() + SECONDS * 1_000
  const done: string[] = []
  while (performance.now() < end_ms) {
    const faults = Array.from({ length: 2 }, () => names[Math.floor(random() * names.length)] ?? '')
    await act(play, faults).catch((error: unknown) => {
      test.comment(daemon.stderr.split('\n').slice(-60).join('\n'))
      throw error
    })
    done.push(...faults)
    await settled(test, world, world)
    for (const record of rips) {
      const begin = performance.now()
      const { name, weight } = await daemon.data('GET', `/ipvsDirector/rips/${record}`)
      play.reads.push({ record, value: name, begin, end: performance.now() })
      if (!name.endsWith('-0')) test.equal(weight, weightOf(name))
    }
    test.same(counted(play.problems.splice(0)), [], faults.join(', '))
    test.same(violations(play.writes, play.reads), [], 'the history is a possible one')
    // A record begins its next act with its current value: each act is judged separately.
    const last = play.reads.slice(-rips.length)
    play.writes.splice(
      0,
      Number.POSITIVE_INFINITY,
      ...last.map(({ record, value }) => ({ record, value, begin: 0, end: 0, outcome: 'done' as const })),
    )
    play.reads.length = 0
  }
  await contiguous(test, world)
  await audited(test, { daemon, answered: play.answered })
  await daemon.kill('SIGTERM')
  test.same(await checkState(daemon.state), [], 'the stores are whole')
  test.notMatch(daemon.stderr, /"defect"/)
  test.comment(`${play.answered.length} answered changes; ${done.join(', ')}`)
})
