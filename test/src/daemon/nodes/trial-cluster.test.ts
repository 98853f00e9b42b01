import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { KeptNodes } from '../../../../src/daemon/nodes/kept-nodes.ts'
import { TrialCluster } from '../../../../src/daemon/nodes/trial-cluster.ts'
import { ADMIN } from '../../../fixtures/appliance.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { until } from '../../../fixtures/until.ts'

const RUNS = `setInterval(() => undefined, 1_000); process.on('SIGTERM', () => process.exit(0)); process.send({ state: 'listens' }); process.send({ state: 'runs' })`

/** Three nodes with a program in place of the daemon; test/system/nodes.test.ts has real ones. */
function clusterOf(t: Test, source: string, kept: KeptNodes | undefined) {
  const state = temporaryFolder(t, 'nodes')
  const program = join(state, 'program.cjs')
  writeFileSync(program, source)
  const said: string[] = []
  const complaints: string[] = []
  const places = [1, 2, 3].map((number) => {
    const listen = { host: `127.0.0.${number}`, port: 1 }
    return { number, state: join(state, `node-${number}`), listen, http: undefined, metrics: undefined, peer: listen }
  })
  const cluster = new TrialCluster({
    state,
    administrator: ADMIN,
    wantsDemo: false,
    places,
    startOf: (place) => ({
      place,
      program,
      args: ['--state', place.state],
      env: { PATH: process.env['PATH'], NUMBER: String(place.number) },
    }),
    kept,
    say: (line) => said.push(line),
    complain: (line) => complaints.push(line),
  })
  t.teardown(() => cluster.end())
  const now = () => JSON.parse(readFileSync(join(state, 'nodes.json'), 'utf8')) as KeptNodes
  return { cluster, said, complaints, now }
}

const COMPLETE: KeptNodes = { nodes: 3, peer: '127.0.0.1:1', isComplete: true, demo: undefined }

t.test('a first start that fails is not complete', async (t) => {
  const { cluster, now, said } = clusterOf(t, `console.error('no'); process.exit(3)`, undefined)
  await t.rejects(cluster.start(), /node \d has ended \(exit code 3\): no\n/)
  t.match(now(), { nodes: 3, isComplete: false })
  t.notMatch(said.join('\n'), /Password/)
})

t.test('a later start continues with the nodes that start', async (t) => {
  const { cluster, complaints, said } = clusterOf(
    t,
    `if (process.env.NUMBER === '2') process.exit(1); else { ${RUNS} }`,
    COMPLETE,
  )
  await cluster.start()
  t.match(complaints, [/node 2 has ended \(exit code 1\)/])
  t.match(said.join('\n'), /node 1 of 3 runs[^]*Node 3 {9}/)
  t.notMatch(said.join('\n'), /Password/)
  await cluster.end()
  t.equal(said.at(-1), '  Stopped        3 nodes, with their HAProxys and etcds')
})

t.test('without any node there is no cluster', async (t) => {
  const { cluster } = clusterOf(t, 'process.exit(1)', COMPLETE)
  await t.rejects(cluster.start(), { message: 'no node has started' })
})

t.test('a node that ends stays so until its start is requested', async (t) => {
  const { cluster, said } = clusterOf(t, RUNS, COMPLETE)
  await cluster.start()
  const pid = Number(/Node 2 .*process (\d+)/.exec(said.join('\n'))?.[1])
  if (!(pid > 1)) return t.fail('it does not run')
  process.kill(pid, 'SIGTERM')
  const has = (text: string) =>
    until(
      text,
      async () => said.filter((line) => line.includes(text)).length,
      (count) => count > 0,
    )
  await has(`Node 2 has ended (exit code 0); kill -USR2 ${process.pid} starts it again`)
  const before = said.length
  cluster.startEnded()
  await until(
    'the node',
    async () => said.slice(before),
    (lines) => lines.some((line) => line.includes('node 2 of 3 runs')),
  )
  t.equal(said.slice(before).length, 1, 'the others are left alone')
  return undefined
})
