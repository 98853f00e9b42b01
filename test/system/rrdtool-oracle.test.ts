/**
 * rrdtool is the executable reference of the archive: the same counters go into both, and every bucket of every tier,
 * its average, minimum and maximum, has to be the same, known or not; so has the choice of a tier.
 * FULCRUM_TEST_RRDTOOL_ROUNDS: factor of runs and windows over those of a check.
 */
import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { shareOf } from '../../storage/archive/buckets.ts'
import { Points } from '../../storage/archive/consolidate.ts'
import { ProcessCounters } from '../../storage/archive/increments.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { selectTier, servedWindow } from '../../storage/archive/select.ts'
import { COUNTER_COUNT, METRIC_COUNT, type Tier, TIERS } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { seededRandom } from '../storage/archive/reference-model.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const ROUNDS = Number(process.env['FULCRUM_TEST_RRDTOOL_ROUNDS'] ?? 1)
const HAS_RRDTOOL = spawnSync('rrdtool', ['--version'], { stdio: 'ignore' }).status === 0
const SKIP = HAS_RRDTOOL ? {} : { skip: 'rrdtool is not installed' }
const START_S = 1_700_000_000
const OBJECTS = ['a', 'b', 'c']
const METHODS = ['AVERAGE', 'MIN', 'MAX'] as const
const UPDATES_PER_COMMAND = 200

/** Runs commands in one process; returns one answer each, without the line of times at its end. */
function rrdtool(folder: string, commands: readonly string[]): readonly string[] {
  const input = `${commands.join('\n')}\n`
  const { stdout } = spawnSync('rrdtool', ['-', folder], { input, encoding: 'utf8', maxBuffer: 2 ** 30 })
  const answers = stdout.split(/^OK u:.*\n/m).slice(0, -1)
  if (answers.length !== commands.length) throw new Error(`rrdtool: ${stdout.slice(-300)}`)
  return answers
}

/** Label (the end of the bucket) and values of each row. */
function rowsOf(answer: string): readonly (readonly number[])[] {
  return answer.split('\n').flatMap((line) => {
    const [, label, values] = /^(\d+): +(.*)$/.exec(line) ?? []
    return values === undefined ? [] : [[Number(label), ...values.trim().split(/\s+/).map(Number)]]
  })
}

interface Reading {
  readonly time_s: number
  /** Per object, then per counter. */
  readonly counters: readonly (readonly number[])[]
}

/** Mostly a reading each second, some late, gaps longer than the heartbeat, and counters that restart. */
function makeReadings(random: () => number, seconds: number, heartbeat_s: number): readonly Reading[] {
  const whole = (below: number) => Math.floor(random() * below)
  const counters = OBJECTS.map(() => Array.from({ length: COUNTER_COUNT }, () => whole(1e12)))
  const readings: Reading[] = [{ time_s: START_S, counters: counters.map((values) => [...values]) }]
  for (let time_s = START_S; time_s < START_S + seconds;) {
    const kind = random()
    const late = heartbeat_s > 1 && kind < 0.95
    const n = kind < 0.9 ? 1 : late ? 2 + whole(heartbeat_s - 1) : heartbeat_s + 1 + whole(39)
    time_s += n
    for (const values of counters) {
      for (const [counter, value] of values.entries()) {
        const perSecond = [0, 0, 1, 5, 1_000, 123_456_789][whole(6)] ?? 0
        // A smaller value: growth that the seconds do not divide would be spread in whole numbers here, and not there.
        values[counter] = random() < 0.01 ? whole(Math.min(100, value)) : value + perSecond * n
      }
    }
    readings.push({ time_s, counters: counters.map((values) => [...values]) })
  }
  return readings
}

/** Spreads increments of readings that are not too far apart over the seconds between them. */
function feedArchive(directory: string, readings: readonly Reading[], heartbeat_s: number): ArchiveWriter {
  const writer = new ArchiveWriter(directory, START_S)
  const slots = OBJECTS.map((name) => writer.ensure('frontend', name, '')?.slot ?? -1)
  const known = new ProcessCounters(1, false)
  let before_s = START_S
  for (const { time_s, counters } of readings) {
    known.beginPoll(slots.length)
    const n = time_s - before_s
    for (let second = before_s; second < time_s; second += 1) writer.ring.beginSecond(second)
    for (const [object, slot] of slots.entries()) {
      for (const [counter, value] of (counters[object] ?? []).entries()) {
        const increment = known.increment(object, counter, value)
        if (n > heartbeat_s) continue
        for (let index = 0; index < n; index += 1)
          writer.ring.set(slot, before_s + index, counter + 1, shareOf(increment, n, index))
      }
      known.see(object)
      // An object that was read has a gauge as well, in the second before the reading.
      if (n > 0) writer.ring.set(slot, time_s - 1, 0, 1)
    }
    writer.commit(time_s, true, undefined)
    before_s = time_s
  }
  return writer
}

function feedRrdtool(folder: string, readings: readonly Reading[], heartbeat_s: number): void {
  const seconds = (readings.at(-1)?.time_s ?? START_S) - START_S
  const rings = TIERS.flatMap(({ step_s }) =>
    METHODS.map((method) => `RRA:${method}:0.999999:${step_s}:${Math.ceil(seconds / step_s) + 120}`),
  )
  const sources = Array.from({ length: COUNTER_COUNT }, (_, n) => `DS:c${n}:DERIVE:${heartbeat_s}:0:U`)
  const commands = OBJECTS.flatMap((name, object) => {
    const words = readings.map(({ time_s, counters }) => `${time_s}:${counters[object]?.join(':')}`)
    const parts = Array.from({ length: Math.ceil(words.length / UPDATES_PER_COMMAND) }, (_, n) =>
      words.slice(n * UPDATES_PER_COMMAND, (n + 1) * UPDATES_PER_COMMAND),
    )
    const updates = parts.map((part) => `update ${name}.rrd ${part.join(' ')}`)
    return [`create ${name}.rrd --start ${START_S - 1} --step 1 ${[...sources, ...rings].join(' ')}`, ...updates]
  })
  rrdtool(folder, commands)
}

function ourValue(points: Points, at: number, method: (typeof METHODS)[number]): number {
  const count = points.count[at] ?? 0
  if (count === 0) return Number.NaN
  if (method === 'AVERAGE') return (points.sum[at] ?? 0) / count
  return (method === 'MIN' ? points.minimum[at] : points.maximum[at]) ?? Number.NaN
}

/** Base seconds as buckets of one second, so that all tiers are compared alike. */
function readTier(reader: ArchiveReader, tier: number, place: { id: number; slot: number }, from: number, to: number) {
  const points = new Points()
  if (tier > 0) {
    reader.readCoarse(tier, place, from, to, points)
    return points
  }
  const values = new Float64Array((to - from) * METRIC_COUNT)
  reader.readBase(place, from, to, values)
  points.reset(to - from)
  for (const [at, value] of values.entries()) if (!Number.isNaN(value)) points.add(at, 1, value, value, value)
  return points
}

const isSame = (a: number, b: number) =>
  Number.isNaN(a) ? Number.isNaN(b) : Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b))

/** Compares all closed buckets that begin after the start; returns the number of values. */
function compareRun(test: Test, folder: string, writer: ArchiveWriter, last_s: number): number {
  const reader = new ArchiveReader(folder, writer.ring.header, writer.ring.slabs)
  let compared = 0
  for (const [tier, { step_s }] of TIERS.entries()) {
    const from = Math.ceil(START_S / step_s) * step_s
    const to = last_s - (last_s % step_s)
    if (to <= from) continue
    for (const object of writer.objects()) {
      const points = readTier(reader, tier, object, from, to)
      const fetches = METHODS.map((method) => `fetch ${object.name}.rrd ${method} -r ${step_s} -s ${from} -e ${to - 1}`)
      for (const [n, answer] of rrdtool(folder, fetches).entries()) {
        const method = METHODS[n] ?? 'AVERAGE'
        for (const [label = 0, ...values] of rowsOf(answer)) {
          for (const [counter, theirs] of values.entries()) {
            const ours = ourValue(points, (counter + 1) * points.n + (label - step_s - from) / step_s, method)
            compared += 1
            if (!isSame(ours, theirs)) {
              test.fail(`${method} of ${step_s} s, second ${label - step_s - START_S}: ${ours} instead of ${theirs}`)
              return compared
            }
          }
        }
      }
    }
  }
  return compared
}

t.test(
  'averages, minima and maxima of every tier match rrdtool',
  { ...SKIP, timeout: 1_800_000 * ROUNDS },
  async (test) => {
    let compared = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [heartbeat_s, seconds] of [
        [1, 1_700],
        [2, 1_700],
        [5, 7_000],
      ] as const) {
        const seed = round * 10 + heartbeat_s
        const folder = temporaryFolder(test)
        const readings = makeReadings(seededRandom(seed), seconds, heartbeat_s)
        const last_s = readings.at(-1)?.time_s ?? START_S
        const writer = feedArchive(folder, readings, heartbeat_s)
        feedRrdtool(folder, readings, heartbeat_s)
        const before = compared
        compared += compareRun(test, folder, writer, last_s)
        await writer.close()
        test.ok(compared > before, `heartbeat ${heartbeat_s} s, seed ${seed}: ${compared - before} values`)
      }
    }
    test.comment(`${compared} values compared`)
  },
)

/** Compares random windows with a file of these tiers and no more than its newest second. */
function compareChoices(test: Test, tiers: readonly Tier[], seed: number, spans: readonly number[]): void {
  const folder = temporaryFolder(test)
  const random = seededRandom(seed)
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)]
  const last_s = START_S + 20_007
  const rings = tiers.flatMap(({ step_s, rows }) => METHODS.map((method) => `RRA:${method}:0.999999:${step_s}:${rows}`))
  const made = `create s.rrd --start ${last_s - 1} --step 1 DS:c:GAUGE:400:0:U ${rings.join(' ')}`
  rrdtool(folder, [made, `update s.rrd ${last_s}:1`])
  const windows = Array.from({ length: 2_000 }, () => {
    const end = last_s - (pick([0, 0, 0, 1, 7, 30, 100, 1_000, 5_000]) ?? 0)
    const start = end - Math.floor((pick(spans) ?? 0) * (random() < 0.5 ? 1 : random()))
    const resolution =
      pick([1, 2, 5, 6, 10, 20, 35, 36, 60, 100, 180, 181, 300, 1_000, 1_950, 1_951, 3_600, 10_000]) ?? 1
    return { start, end, resolution, method: pick(METHODS) }
  })
  const commands = windows.map(
    ({ start, end, resolution, method }) =>
      `fetch s.rrd ${method} -r ${resolution} -s ${start} -e ${Math.max(start, end - 1)}`,
  )
  for (const [n, answer] of rrdtool(folder, commands).entries()) {
    const { start, end, resolution } = windows[n] ?? { start: 0, end: 0, resolution: 1 }
    const step_s = tiers[selectTier(tiers, last_s, start, resolution)]?.step_s ?? 0
    const { first_s, end_s } = servedWindow(step_s, last_s, start, end)
    // rrdtool returns open buckets as well.
    const labels = rowsOf(answer)
      .map(([label = 0]) => label)
      .filter((label) => label <= last_s - (last_s % step_s))
    const wanted = Array.from({ length: (end_s - first_s) / step_s }, (_, i) => first_s + (i + 1) * step_s)
    if (labels.join() === wanted.join()) continue
    test.strictSame(labels, wanted, `start ${start - last_s}, end ${end - last_s}, resolution ${resolution}`)
    return
  }
}

t.test(
  'the tier and the buckets of random windows match rrdtool',
  { ...SKIP, timeout: 1_800_000 * ROUNDS },
  async (test) => {
    const small = [1, 10, 60, 300].map((step_s): Tier => ({ name: `${step_s}`, step_s, rows: 60, points: 30 }))
    for (let seed = 0; seed < ROUNDS; seed += 1) {
      compareChoices(test, small, seed, [0, 1, 10, 59, 60, 61, 100, 600, 601, 3_600, 3_601, 18_000, 30_000])
      compareChoices(test, TIERS, seed + 1_000, [60, 7_199, 7_200, 7_201, 86_400, 86_401, 700_000])
    }
    test.pass(`${4_000 * ROUNDS} windows`)
  },
)
