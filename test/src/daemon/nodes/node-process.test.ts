import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { NodeProcess } from '../../../../src/daemon/nodes/node-process.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { until } from '../../../fixtures/until.ts'

const RUNS = `setInterval(() => undefined, 1_000); process.on('SIGTERM', () => process.exit(0)); process.send({ state: 'listens', email: 'a@b', password: 'secret' }); process.send({ state: 'runs', demoUrl: 'http://x/' });`

/** A program in place of the daemon. */
function nodeOf(t: Test, source: string, onEnded: (how: string) => void = () => undefined) {
  const folder = temporaryFolder(t, 'node')
  const program = join(folder, 'program.cjs')
  writeFileSync(program, source)
  const listen = { host: '127.0.0.1', port: 1 }
  const place = { number: 1, state: join(folder, 'node-1'), listen, http: undefined, metrics: undefined, peer: listen }
  const node = new NodeProcess({ place, program, args: [], env: { PATH: process.env['PATH'] } }, onEnded)
  t.teardown(() => node.end())
  return node
}

/** Never an id of 0 or 1, which stands for a whole group of processes. */
function pidOf({ pid }: NodeProcess): number {
  if (pid === undefined) throw new Error('it does not run')
  return pid
}

t.test('messages of a node are kept; its output goes to its log', async (t) => {
  const node = nodeOf(t, `console.error('hello'); ${RUNS}`)
  node.begin()
  await node.runs()
  t.same([node.firstLogin, node.demoUrl], [{ email: 'a@b', password: 'secret' }, 'http://x/'])
  await node.end()
  t.same([node.isRunning, node.wasCutOff], [false, false])
  t.equal(readFileSync(node.logFile, 'utf8'), 'hello\n')
  t.equal(statSync(node.logFile).mode & 0o777, 0o600)
})

t.test('a node that ends before it runs gives the reason', async (t) => {
  const node = nodeOf(t, `console.error('first\\nport taken'); process.exit(3)`)
  node.begin()
  await t.rejects(
    node.runs(),
    /^node 1 has ended \(exit code 3\): first\nport taken\nmore is in .*node-1\/daemon\.log$/,
  )
})

t.test('a killed node may have left files, and starts again', async (t) => {
  const ended: string[] = []
  const node = nodeOf(t, RUNS, (how) => ended.push(how))
  node.begin()
  await node.runs()
  process.kill(pidOf(node), 'SIGKILL')
  await until(
    'its end',
    async () => node.isRunning,
    (is) => !is,
  )
  t.ok(node.wasCutOff)
  node.begin()
  await node.runs()
  t.notOk(node.wasCutOff)
  await node.end()
  t.same(ended, ['ended by SIGKILL', 'exit code 0'])
})

t.test('a long log is put aside by the next start', async (t) => {
  const node = nodeOf(t, `console.error('hello'); ${RUNS}`)
  mkdirSync(node.place.state)
  writeFileSync(node.logFile, 'x'.repeat(4 * 1024 * 1024 + 1))
  node.begin()
  await node.runs()
  t.equal(readFileSync(node.logFile, 'utf8'), 'hello\n')
  t.equal(statSync(`${node.logFile}.1`).size, 4 * 1024 * 1024 + 1)
})

t.test("it has its own session: a kill of its parent's group does not reach it", async (t) => {
  const node = nodeOf(t, RUNS)
  node.begin()
  await node.runs()
  const stat = readFileSync(`/proc/${pidOf(node)}/stat`, 'utf8')
    .split(') ')[1]
    ?.split(' ')
  t.equal(Number(stat?.[3]), pidOf(node))
})
