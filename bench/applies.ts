/**
 * Applies of very many real servers, compared with HAProxy's own check of the same file, and with a HAProxy that
 * reloads the same file without Fulcrum.
 */
import { join } from 'node:path'
import { newId } from '../src/base/ids.ts'
import type { HealthCheckSetting } from '../src/model/health-check.ts'
import { LmdbConfigStore } from '../storage/config/lmdb-config-store.ts'
import { backend, frontend, realServer } from '../test/fixtures/config.ts'
import type { Daemon } from '../test/fixtures/daemon.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { memoryOf, runTime, startDaemon } from './daemon.ts'
import { spread, table, timed, whole } from './measure.ts'
import { plainReload } from './plain-reload.ts'
import { scaled } from './scale.ts'

interface Size {
  readonly reals: number
  readonly rounds: number
  readonly title: string
  readonly healthCheck: HealthCheckSetting
}

const UNCHECKED: HealthCheckSetting = { type: 'none' }
/** All checks fail, once a minute, so that a reload carries over the state of each server. */
const CHECKED: HealthCheckSetting = { type: 'tcp', interval: 60 }
const SIZES: readonly Size[] = scaled(
  [
    { reals: 10_000, rounds: 7, title: '10,000 real servers', healthCheck: UNCHECKED },
    { reals: 10_000, rounds: 7, title: '10,000 real servers that are checked', healthCheck: CHECKED },
    { reals: 100_000, rounds: 4, title: '100,000 real servers', healthCheck: UNCHECKED },
  ],
  [{ reals: 20, rounds: 1, title: '20 real servers', healthCheck: CHECKED }],
)
/** Number of changes of each kind that are staged before an apply. */
const STAGED = scaled(10, 1)
/** A backend may hold at most 20,000. */
const PER_BACKEND = 10_000

interface Filled {
  readonly port: string
  readonly frontendId: string
  readonly realIds: readonly string[]
}

/** Stages a frontend with its servers in the store of a stopped daemon: 100,000 requests would take minutes. */
async function fill(state: string, { reals: count, healthCheck }: Size): Promise<Filled> {
  const realIds = Array.from({ length: count }, newId)
  const port = String(await freePort())
  const reals = realIds.map((id, at) =>
    realServer(id, { name: `real ${at}`, ip: `127.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}` }),
  )
  const backends = Array.from({ length: Math.ceil(count / PER_BACKEND) }, (_, at) =>
    backend(newId(), realIds.slice(at * PER_BACKEND, (at + 1) * PER_BACKEND), { name: `backend ${at}`, healthCheck }),
  )
  const entry = frontend(newId(), backends[0]?.id ?? null, { ports: port })
  const write = (section: string) => (value: { readonly id: string }) => {
    return { section, scope: '', key: value.id, value, changeId: newId() }
  }
  const writes = [...reals.map(write('realServers')), ...backends.map(write('l7Backends')), write('l7Frontends')(entry)]
  const store = new LmdbConfigStore(join(state, 'config'))
  const origin = { actor: 'bench', endpoint: 'bench', at: new Date().toISOString() }
  await store.write({ op: 'stage', origin, writes, discards: [] })
  await store.close()
  return { port, frontendId: entry.id, realIds }
}

const apply = (daemon: Daemon) => timed(() => daemon.data('PUT', '/services/apply'))

async function measure(size: Size): Promise<void> {
  const bench = await startDaemon()
  const { daemon } = bench
  try {
    await daemon.kill('SIGTERM')
    const filled = await fill(daemon.state, size)
    await daemon.start()
    await daemon.login()
    const reviewAll_ms = await timed(() => daemon.data('GET', '/services/pending'))
    const first_ms = await apply(daemon)
    const { anonymous_mb } = memoryOf(daemon.pid)
    const rows = await changes(daemon, size, filled)
    table(
      `${size.title}, ${whole(PER_BACKEND)} in a backend at the most, ${size.rounds} rounds`,
      ['what', 'ms (range)'],
      [
        ...rows,
        ['review of all of them', reviewAll_ms.toFixed(0)],
        ['first apply of all of them', first_ms.toFixed(0)],
        ['private memory of the daemon behind it, MB', anonymous_mb.toFixed(0)],
      ],
    )
  } finally {
    await bench.stop()
  }
}

async function changes(
  daemon: Daemon,
  { rounds }: Size,
  { port, frontendId, realIds }: Filled,
): Promise<readonly (readonly [string, string])[]> {
  const plain = await plainReload(`${daemon.state}/haproxy`, port)
  const [check_ms, alone_ms, stage_ms, weigh_ms, review_ms, validate_ms, reload_ms, runtime_ms] = Array.from(
    { length: 8 },
    (): number[] => [],
  ) as [number[], number[], number[], number[], number[], number[], number[], number[]]
  try {
    for (let i = 0; i < rounds; i += 1) {
      check_ms.push(await runTime(['haproxy', '-c', '-f', `${daemon.state}/haproxy/haproxy.cfg`]))
      alone_ms.push(await plain.reload())
      for (let n = 0; n < STAGED; n += 1) {
        const timeout = { timeoutClient: 40 + i + n }
        stage_ms.push(await timed(() => daemon.data('PUT', `/layer7proxy/frontends/${frontendId}`, timeout)))
        const weight = { port: 8000, weight: 7 + i + n }
        weigh_ms.push(await timed(() => daemon.data('PUT', `/ipvsDirector/rips/${realIds.at(-1 - n)}`, weight)))
      }
      review_ms.push(await timed(() => daemon.data('GET', '/services/pending')))
      validate_ms.push(await timed(() => daemon.data('POST', '/services/validate')))
      reload_ms.push(await apply(daemon))
      await daemon.data('PUT', `/ipvsDirector/rips/${realIds[i]}`, { port: 8000, weight: 7 + i })
      runtime_ms.push(await apply(daemon))
    }
  } finally {
    await plain.stop()
  }
  const ours_ms = reload_ms.map((value, i) => value - (alone_ms[i] ?? 0))
  const times = (values: readonly number[]) =>
    spread(
      values.map((value, i) => value / (check_ms[i] ?? value)),
      2,
    )
  return [
    ['`haproxy -c` of the same file', spread(check_ms)],
    ['HAProxy alone: reload of the same file', spread(alone_ms)],
    ['stage a timeout', spread(stage_ms)],
    ['stage a weight', spread(weigh_ms)],
    ['review of what is pending', spread(review_ms)],
    ['validate it', spread(validate_ms)],
    ['apply of a change that reloads', spread(reload_ms)],
    ['the same as a multiple of `haproxy -c`', times(reload_ms)],
    ['the same without what HAProxy alone needs', spread(ours_ms)],
    ['that as a multiple of `haproxy -c`', times(ours_ms)],
    ['apply of a change at runtime', spread(runtime_ms)],
  ]
}

export async function applies(): Promise<void> {
  for (const size of SIZES) await measure(size)
}
