/**
 * The longest time for which configuring blocks the thread that answers pollers: with 2,000 to 100,000 real servers in
 * one process.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { ApplyEngine } from '../src/config/apply.ts'
import type { PlanExecutor } from '../src/config/enactor.ts'
import type { Draft } from '../src/config/draft.ts'
import { Editing } from '../src/config/editing.ts'
import { PendingChanges } from '../src/config/pending.ts'
import { namesInTurns } from '../src/rules/names.ts'
import { referencesInTurns } from '../src/rules/references.ts'
import { systemClock } from '../src/base/clock.ts'
import type { PlanResult } from '../src/drivers/driver.ts'
import { supervisedPaths } from '../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../src/drivers/index.ts'
import { sentPlan } from '../src/drivers/sent-plan.ts'
import { newId } from '../src/base/ids.ts'
import { silentLog } from '../src/base/log.ts'
import { LmdbConfigStore } from '../storage/config/lmdb-config-store.ts'
import { backend, frontend, realServer } from '../test/fixtures/config.ts'
import { spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const SIZES = scaled([2_000, 10_000, 100_000], [100])
/** A backend may hold at most 20,000. */
const PER_BACKEND = 10_000
const ROUNDS = scaled(12, 1)
const WARM_UP = scaled(3, 0)

/** Returns the longest pause of the event loop during the work, in milliseconds. */
async function longestStretch(work: () => unknown): Promise<number> {
  let [longest_ms, last_ms, done] = [0, performance.now(), false]
  const look = () => {
    const now_ms = performance.now()
    longest_ms = Math.max(longest_ms, now_ms - last_ms)
    last_ms = now_ms
    if (!done) setImmediate(look)
  }
  setImmediate(look)
  await work()
  done = true
  look()
  return longest_ms
}

/** Returns an executor that passes plans to another thread, as the system worker gets them, and carries nothing out. */
function receivingWorker() {
  const code = `const { parentPort } = require('node:worker_threads')
    parentPort.on('message', ({ steps }) => parentPort.postMessage({ ok: true, done: steps.length, recorded: 0, warnings: [] }))`
  const worker = new Worker(code, { eval: true })
  const send: PlanExecutor['execute'] = async (steps) => {
    const plan = await sentPlan(steps)
    return await new Promise((resolve) => {
      worker.once('message', (result: PlanResult) => resolve(result))
      worker.postMessage(plan)
    })
  }
  return { executor: { execute: send, check: send }, stop: () => worker.terminate() }
}

async function stretchesOf(count: number): Promise<ReadonlyMap<string, readonly number[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const store = new LmdbConfigStore(folder)
  const worker = receivingWorker()
  const drivers = createDrivers({ haproxy: supervisedPaths(folder), stateFolder: folder }, 'node')
  const parts = { store, drivers, executor: worker.executor, rules: [referencesInTurns, namesInTurns], nodeId: 'node' }
  const engine = new ApplyEngine({
    ...parts,
    clock: systemClock,
    log: silentLog,
    own: [],
    wouldCut: async () => undefined,
    tell: () => undefined,
    beforeApply: async () => undefined,
    onPromoted: () => undefined,
  })
  const pending = new PendingChanges(store, drivers, () => ['node-1'])
  const editing = new Editing(store)
  const origin = { actor: 'bench', endpoint: 'bench', at: new Date().toISOString() }
  const edit = (work: (draft: Draft) => void) => editing.edit(origin, undefined, work)
  const measured = new Map<string, number[]>()
  const measure = async (title: string, work: () => unknown) => {
    const times_ms = measured.get(title) ?? []
    times_ms.push(await longestStretch(work))
    measured.set(title, times_ms)
  }
  const apply = () => engine.apply({ force: undefined, comment: undefined }, { by: 'bench', address: undefined })
  try {
    const reals = Array.from({ length: count }, () => realServer(newId()))
    const writes = reals.map((value) => ({
      section: 'realServers',
      scope: '',
      key: value.id,
      value,
      changeId: newId(),
    }))
    await store.write({ op: 'stage', origin, writes, discards: [] })
    const backends = Array.from({ length: Math.ceil(count / PER_BACKEND) }, (_, at) => {
      const some = reals.slice(at * PER_BACKEND, (at + 1) * PER_BACKEND)
      return backend(
        newId(),
        some.map(({ id }) => id),
      )
    })
    for (const one of backends) await edit((draft) => draft.section('l7Backends').create(one))
    const [all = backend(newId(), [])] = backends
    const entry = frontend(newId(), all.id)
    await edit((draft) => draft.section('l7Frontends').create(entry))
    await measure('first apply of all of them', apply)
    for (let n = 0; n < ROUNDS; n++) {
      await measure('stage a weight', () =>
        edit((d) => d.section('realServers').merge(reals[n]?.id ?? '', { weight: n })),
      )
      await measure('review with files, of a weight', () => pending.preview())
      await measure('validate a weight', () => engine.validate())
      await measure('apply a weight (runtime)', apply)
      await edit((draft) => draft.section('l7Frontends').merge(entry.id, { timeoutClient: 40 + n }))
      await measure('apply a timeout (reload)', apply)
      const members = n % 2 === 0 ? all.reals.slice(1) : all.reals
      await measure('stage a member', () => edit((d) => d.section('l7Backends').merge(all.id, { reals: members })))
      await measure('apply a member (runtime)', apply)
    }
  } finally {
    await worker.stop()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return measured
}

export async function stretches(): Promise<void> {
  const sizes: ReadonlyMap<string, readonly number[]>[] = []
  for (const size of SIZES) sizes.push(await stretchesOf(size))
  const settled = (times_ms: readonly number[]) => (times_ms.length > WARM_UP ? times_ms.slice(WARM_UP) : times_ms)
  const rows = [...(sizes[0]?.keys() ?? [])].map((title) => [
    title,
    ...sizes.map((measured) => spread(settled(measured.get(title) ?? []))),
  ])
  const head = ['what', ...SIZES.map((size) => `${whole(size)} real servers`)]
  table('Longest stretch of the thread that answers pollers, ms (range)', head, rows)
}
