/**
 * `npm run bench -- guard`: the ten headline ratios in two minutes, compared with those of the last release in
 * guard.json. Run it before a release, on the machine that recorded them; `-- guard --record` records them anew.
 * Processor time is measured where the name says so, because rates on a shared machine say more about its other users.
 */
import { closeSync, fdatasyncSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../test/fixtures/traffic.ts'
import { type BenchDaemon, cpuOf, createReals, memoryOf, runTime, startDaemon } from './daemon.ts'
import { startBare } from './load.ts'
import { spread, table, timed } from './measure.ts'
import { besideBare, ratios, startPolled } from './polled.ts'
import { scaled } from './scale.ts'

const RECORDED = new URL('guard.json', import.meta.url)
const ROUNDS = scaled(5, 1)
const REALS = scaled(2_000, 20)
const STAGED = scaled(100, 5)
/** Time after which threads that nothing needs have ended. */
const IDLE_MS = scaled(70_000, 100)

/** Costs as multiples of their limits, round by round. Less is better. */
type Ratios = Readonly<Record<string, readonly number[]>>

/**
 * The most frequent requests of pollers, and the most expensive of them, by their place among the cases of the front's
 * benchmark.
 */
const ASKED: readonly (readonly [name: string, place: number])[] = [
  ['ping', 0],
  ['live figures', 1],
  ['live figures, gzip', 2],
  ['history of 60 s, one window', 5],
  ['history of 60 s, rolling windows', 6],
  ['history of 1 h, rolling windows', 8],
]

async function ofPollers(): Promise<Ratios> {
  const polled = await startPolled()
  try {
    const found: Record<string, readonly number[]> = {}
    for (const [name, at] of scaled(ASKED, ASKED.slice(-2))) {
      const asked = polled.cases[at]
      if (asked === undefined) throw new Error(`nothing is asked at place ${at}`)
      const { ours, bare } = await besideBare(polled, asked, { rounds: ROUNDS, seconds: 1 })
      const [costs, limits] = [ours, bare].map((rates) => rates.map(({ processor_us }) => processor_us))
      found[`${name}: processor time, of a bare server`] = ratios(costs ?? [], limits ?? [])
    }
    return found
  } finally {
    await polled.stop()
  }
}

/** Returns the milliseconds for this many page writes, each flushed to the disk before the next. */
function flushes(folder: string): number {
  const fd = openSync(join(folder, 'flushed'), 'w')
  const page = Buffer.alloc(4_096)
  const began_ms = performance.now()
  for (let i = 0; i < STAGED; i += 1) {
    writeSync(fd, page)
    fdatasyncSync(fd)
  }
  closeSync(fd)
  return performance.now() - began_ms
}

async function ofChanges({ daemon }: BenchDaemon): Promise<Ratios> {
  const rips = await createReals(daemon, REALS)
  const reals = rips.map((ripId) => ({ ripId }))
  const backend = { name: 'big', mode: 'http', reals, healthCheck: { type: 'none' } }
  const id = (await daemon.data('POST', '/layer7proxy/backends', backend)).id
  const common = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: String(await freePort()), defaultBackendId: id }
  const frontend = (await daemon.data('POST', '/layer7proxy/frontends', common)).id
  await daemon.data('PUT', '/services/apply')
  const [staged, flushed, applied, checked]: [number[], number[], number[], number[]] = [[], [], [], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    flushed.push(flushes(daemon.state))
    staged.push(
      await timed(async () => {
        for (let i = 0; i < STAGED; i += 1)
          await daemon.data('PUT', `/layer7proxy/frontends/${frontend}`, { timeoutClient: 1_000 * (round + 1) + i })
      }),
    )
    checked.push(await runTime(['haproxy', '-c', '-f', `${daemon.state}/haproxy/haproxy.cfg`]))
    applied.push(await timed(() => daemon.data('PUT', '/services/apply')))
  }
  return {
    'a change that is staged: time, of a flush to the disk': ratios(staged, flushed),
    [`an apply that reloads ${REALS} servers: time, of haproxy -c`]: ratios(applied, checked),
  }
}

/** Returns the processor seconds of a process from its start until it is ready. */
async function costOfStart(
  begin: () => Promise<{ readonly pid: number; readonly end: () => Promise<void> }>,
): Promise<number> {
  const { pid, end } = await begin()
  const cost_s = cpuOf(pid)
  await end()
  return cost_s
}

async function ofStart(): Promise<Ratios> {
  let [ours_s, bare_s] = [0, 0]
  // The system counts in hundredths of a second, and a bare server needs only a few.
  for (let round = 0; round < ROUNDS; round += 1) {
    bare_s += await costOfStart(async () => {
      const bare = await startBare(Buffer.from('{}'))
      return { pid: bare.pid, end: async () => bare.stop() }
    })
    ours_s += await costOfStart(async () => {
      const bench = await startDaemon()
      return { pid: bench.daemon.pid, end: () => bench.stop() }
    })
  }
  return { 'start and login: processor time, of a bare server': [ours_s / bare_s] }
}

async function ofMemory({ daemon }: BenchDaemon, began_ms: number): Promise<Ratios> {
  await wait(Math.max(0, began_ms + IDLE_MS - performance.now()))
  const bare = await startBare(Buffer.from('{}'))
  await wait(scaled(1_000, 10))
  const ratio = memoryOf(daemon.pid).anonymous_mb / memoryOf(bare.pid).anonymous_mb
  bare.stop()
  return { 'idle: private memory, of a bare server': [ratio] }
}

async function measured(): Promise<Ratios> {
  const idle = await startDaemon()
  try {
    const began_ms = performance.now()
    const found = { ...(await ofPollers()), ...(await ofStart()) }
    const changing = await startDaemon()
    try {
      return { ...found, ...(await ofChanges(changing)), ...(await ofMemory(idle, began_ms)) }
    } finally {
      await changing.stop()
    }
  } finally {
    await idle.stop()
  }
}

interface Recorded {
  readonly version: string
  readonly ratios: Ratios
}

/** Returns the range of the rounds without the best and the worst. A single value gets a range of a tenth. */
function spreadOf(values: readonly number[]): readonly [low: number, high: number] {
  const [only = Number.NaN] = values
  if (values.length === 1) return [only * 0.95, only * 1.05]
  const sorted = values.toSorted((a, b) => a - b)
  const inner = sorted.length < 5 ? sorted : sorted.slice(1, -1)
  return [inner[0] ?? Number.NaN, inner.at(-1) ?? Number.NaN]
}

/**
 * Returns whether costs are worse by more than the spread: the better rounds now cost more than the worse ones then.
 */
export const isWorse = (now: readonly number[], then: readonly number[] | undefined): boolean =>
  then !== undefined && spreadOf(now)[0] > spreadOf(then)[1]

export async function run(): Promise<void> {
  const now = await measured()
  if (process.argv.includes('--record')) {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Recorded
    const rounded = Object.entries(now).map(([name, values]) => [name, values.map((value) => Number(value.toFixed(2)))])
    writeFileSync(RECORDED, `${JSON.stringify({ version, ratios: Object.fromEntries(rounded) }, undefined, 2)}\n`)
  }
  const { version, ratios: then } = JSON.parse(readFileSync(RECORDED, 'utf8')) as Recorded
  const worse = Object.keys(now).filter((name) => isWorse(now[name] ?? [], then[name]))
  const shown = (values: readonly number[] | undefined) => (values === undefined ? '–' : spread(values, 2))
  table(
    'Headline ratios: how many times its limit something costs, less is better',
    ['what, of what', 'now', `recorded of ${version}`, ''],
    Object.entries(now).map(([name, values]) => [
      name,
      shown(values),
      shown(then[name]),
      worse.includes(name) ? '**worse**' : '',
    ]),
  )
  // In a smoke run the figures mean nothing.
  if (scaled(worse.length, 0) === 0) return
  console.error(`\nguard: worse than ${version} by more than the spread: ${worse.join('; ')}`)
  process.exitCode = 1
}

if (import.meta.main) await run()
