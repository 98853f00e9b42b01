import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type ClusterDaemon, ClusterDaemons, hostOf } from '../fixtures/cluster-daemons.ts'
import { threeNodes } from '../fixtures/cluster-sight.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { fetchOnce, freePort, startOrigin } from '../fixtures/traffic.ts'

const REQUESTS_MIN = 2_000
const APPLIES = 20
const CLIENTS = 16
/** Requests without a pause would only make each apply take longer. */
const PAUSE_MS = 10

t.setTimeout(1_800_000)

interface Asked {
  readonly daemon: Daemon
  /** Address on which its HAProxy serves. */
  readonly host: string
}

/** Asks each node in turn, and each HAProxy likewise. */
async function losesNothing(test: Test, nodes: readonly [Asked, ...Asked[]]): Promise<void> {
  const [{ daemon }] = nodes
  const nodeAt = (i: number) => nodes[i % nodes.length] ?? nodes[0]
  const inTurn = (i: number) => nodeAt(i).daemon
  const origins = [await startOrigin(test, 'one'), await startOrigin(test, 'two'), await startOrigin(test, 'three')]
  const rips: string[] = []
  for (const { name, port } of origins) {
    rips.push((await daemon.data('POST', '/ipvsDirector/rips', { name, ip: '127.0.0.1', port })).id)
  }
  const port = await freePort()
  const reals = rips.slice(0, 2).map((ripId) => ({ ripId }))
  const healthCheck = { type: 'none' }
  const backend = (await daemon.data('POST', '/layer7proxy/backends', { name: 'be', mode: 'http', reals, healthCheck }))
    .id
  const made = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: String(port), defaultBackendId: backend }
  const frontend = (await daemon.data('POST', '/layer7proxy/frontends', made)).id
  await daemon.data('PUT', '/services/apply')

  /** Each kind of change in turn: weight, state, members of a backend, and a reload. */
  const changes = [
    (i: number) => inTurn(i).data('PUT', `/ipvsDirector/rips/${rips[0]}`, { port: origins[0]?.port, weight: 50 + i }),
    (i: number) => inTurn(i).data('PUT', `/layer7proxy/frontends/${frontend}`, { timeoutClient: 20 + i }),
    (i: number) => inTurn(i).data('PUT', `/ipvsDirector/rips/${rips[1]}/${i % 8 < 4 ? 'drain' : 'online'}`),
    (i: number) =>
      inTurn(i).data('PUT', `/layer7proxy/backends/${backend}`, {
        reals: (i % 8 < 4 ? rips : rips.slice(0, 2)).map((ripId) => ({ ripId })),
      }),
  ]
  let finished = false
  let [begun, done] = [0, 0]
  const failures: string[] = []
  const client = async () => {
    while (!finished || done < REQUESTS_MIN) {
      try {
        await fetchOnce(port, '/', nodeAt((begun += 1)).host)
      } catch (error) {
        failures.push(String(error))
      }
      done += 1
      await wait(PAUSE_MS)
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  const kinds = new Set<string>()
  for (let i = 0; i < APPLIES; i += 1) {
    await changes[i % changes.length]?.(i)
    const { changes: pending } = await inTurn(i).data('GET', '/services/pending')
    for (const change of pending) kinds.add(change.effect)
    // Through another node than the one where it was edited.
    await inTurn(i + 1).data('PUT', '/services/apply')
  }
  finished = true
  await Promise.all(clients)
  test.same(failures, [])
  test.ok(done >= REQUESTS_MIN, `${done} requests`)
  test.same(
    [...kinds].toSorted((a, b) => a.localeCompare(b)),
    ['reload', 'runtime'],
  )
  const all = 1 + 1 + APPLIES
  // A node may learn a moment later of an apply through another one.
  const known = await until(
    'every apply',
    async () => Number((await daemon.data('GET', '/services/pending')).revision),
    (revision) => revision >= all,
  )
  test.equal(known, all)
  const served = origins.reduce((total, origin) => total + origin.served, 0)
  test.equal(served, done, 'every request reached an origin exactly once')
}

t.test('no request on a new connection fails during 20 applies, reloads and runtime changes', async (test) => {
  await losesNothing(test, [{ daemon: await daemonFixture(test), host: '127.0.0.1' }])
})

t.test('the same through the HAProxys of three nodes, each of which edits and applies', async (test) => {
  const daemons = await ClusterDaemons.begin(test, { isBeside: true })
  if (typeof daemons === 'string') {
    test.pass(`# SKIP ${daemons}`)
    return
  }
  const { first, second, third } = await threeNodes(daemons)
  const asked = ({ daemon, address }: ClusterDaemon) => ({ daemon, host: hostOf(address) })
  await losesNothing(test, [asked(first), asked(second), asked(third)])
})
