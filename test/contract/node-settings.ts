import type { Test } from 'tap'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import type { Write } from '../../storage/config/config-store.ts'
import { ApplyEngine } from '../../src/config/apply.ts'
import type { Step } from '../../src/drivers/driver.ts'
import { supervisedPaths } from '../../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../../src/drivers/index.ts'
import type { SectionName, SectionRecords } from '../../src/model/sections.ts'
import { checkPlan, executePlan } from '../../workers/executor.ts'
import { type JournalEntry, RecordingHost } from '../../workers/host/recording-host.ts'
import { ENGINE_DEFAULTS } from '../fixtures/config.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { stageIn } from '../fixtures/entries.ts'

export const NODE = 'node-1'
/** Of the same cluster. */
export const OTHER = 'node-2'
const ORIGIN = { actor: 'tester', endpoint: 'test', at: '' }

export const record = <N extends SectionName>(section: N, value: SectionRecords[N]): Write => ({
  section,
  scope: '',
  key: value.id,
  value,
})
export const removed = (section: SectionName, key: string): Write => ({ section, scope: '', key, value: undefined })

/** Returns the state of a machine after all recorded steps: files, settings, and the wanted network. */
export function machineState(journal: readonly JournalEntry[]): Readonly<Record<string, unknown>> {
  const state = new Map<string, unknown>()
  for (const entry of journal) {
    if (entry.verb === 'replaceFile') state.set(entry.path, entry.content)
    if (entry.verb === 'removeFile') state.delete(entry.path)
    if (entry.verb === 'renameFile') {
      state.set(entry.to, state.get(entry.from))
      state.delete(entry.from)
    }
    // A recording host finds every setting empty. A loaded module stays: others may use it by now.
    if (entry.verb === 'setting' && entry.key.startsWith('kernelModule')) continue
    if (entry.verb === 'setting' && entry.value === '') state.delete(entry.key)
    else if (entry.verb === 'setting') state.set(entry.key, entry.value)
    if (entry.verb === 'network' && entry.phase === 'settle') state.set('network', entry.desired)
  }
  const found = Object.fromEntries([...state].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return { ...withoutWeights(found), weights: weightsOf(found) }
}

const CONFIG = '/etc/keepalived/keepalived.conf'
const WEIGHTS = '/run/fulcrum-weights/'

const withoutWeights = (state: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(state).filter(([path]) => !path.startsWith(WEIGHTS)))

/**
 * Returns keepalived's reading of its files: the weight of its configuration is combined with that of the file, which
 * it creates when missing.
 */
function weightsOf(state: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> {
  const weights: Record<string, number> = {}
  const file = state[CONFIG]
  const config = typeof file === 'string' ? file : ''
  for (const [, name = '', first] of config.matchAll(/^track_file (\S+) \{\n.*\n.*\n +init_file (-?\d+)/gm)) {
    if (name === 'loaded') continue
    const isNone = name.endsWith('.0')
    const value = Number(state[`${WEIGHTS}${name}`] ?? first) + (isNone ? 0 : 1)
    // A halted server that keepalived creates takes no new connections while nothing takes it out.
    weights[isNone ? name.slice(0, -2) : name] = value
  }
  return weights
}

/** A plan and its result are data: another process may carry out plans (record 91). */
function sent<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}

/** A store, a machine that only records, and engines over both: each `engine()` is another start of the daemon. */
export function recordedNode(test: Test) {
  const store = new LmdbConfigStore(temporaryFolder(test, 'node'))
  test.teardown(() => store.close())
  const host = new RecordingHost()
  const engine = (beforeStep?: (index: number) => void) =>
    new ApplyEngine({
      ...ENGINE_DEFAULTS,
      nodeId: NODE,
      store,
      drivers: createDrivers({ haproxy: supervisedPaths('/state/haproxy'), stateFolder: '/state' }, NODE, () => [
        NODE,
        OTHER,
      ]),
      executor: {
        execute: async (steps: readonly Step[]) =>
          sent(await executePlan(host, sent(steps), beforeStep === undefined ? {} : { beforeStep })),
        check: async (steps) => sent(await checkPlan(host, sent(steps))),
      },
    })
  const apply = (from = engine()) => from.apply({ force: undefined }, { by: 'tester', address: undefined })
  /** Like the start of an appliance without its own HAProxy. */
  const start = () => engine().converge(({ name }) => name !== 'layer7proxy')
  const stage = (writes: readonly Write[]) => stageIn(store, writes, ORIGIN)
  return { store, host, engine, apply, start, stage, state: () => machineState(host.journal) }
}
