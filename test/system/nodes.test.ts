/** `--nodes 3`: the cluster of a trial, with real daemons, etcds and HAProxys, from its first start to its last end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { findProcesses } from '../../workers/host/processes.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { MAIN } from '../fixtures/daemon.ts'
import { killIfAlive } from '../fixtures/kill.ts'
import { until } from '../fixtures/until.ts'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { type ApiClient, apiClient } from './api-client.ts'
import { finished } from './debian-tree.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NETWORK = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`
const NUMBERS = [1, 2, 3]

/** `npm start -- --nodes 3` as a user sees it. */
class Started {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''

  constructor(state: string, etcd: string, args: readonly string[] = ['--nodes', '3']) {
    const argv = [...MAIN, '--state', state, '--listen', `${NETWORK}.1:9443`, ...args]
    const env = { PATH: process.env['PATH'], FULCRUM_ETCD: etcd }
    this.child = spawn(process.execPath, argv, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
  }

  says(text: string): Promise<unknown> {
    return until(
      `"${text}" of ${this.stderr}`,
      async () => {
        if (this.child.exitCode !== null) throw new Error(`it ended: ${this.stdout}${this.stderr}`)
        return this.stdout
      },
      (all) => all.includes(text),
    )
  }

  ready = () => this.says('Ctrl-C stops all of them.')

  /** Process id of a node's daemon. */
  pidOf(number: number): number {
    const pid = Number(new RegExp(`Node ${number} .*process (\\d+)`).exec(this.stdout)?.[1])
    if (!(pid > 1)) throw new Error(`node ${number} does not run`)
    return pid
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode
    // Its last lines may arrive after its end.
    const closed = once(this.child, 'close')
    this.child.kill(signal)
    const [code] = await closed
    return code
  }
}

const node = (number: number): ApiClient =>
  apiClient((program = '', ...args) => finished(program, args), `https://${NETWORK}.${number}:9443/api/v1`)

/** The status that curl gets there: 0 when nothing listens. */
async function status(number: number, port: number): Promise<number> {
  const url = `http://${NETWORK}.${number}:${port}/`
  const { stdout } = await finished('curl', ['-s', '-m', '10', '-o', '/dev/null', '-w', '%{http_code}', url])
  return Number(stdout)
}

interface Seen {
  readonly id: string
  readonly quorum: boolean
  readonly nodes: readonly {
    readonly id: string
    readonly name: string
    readonly state: string
    readonly isVoter: boolean
  }[]
}
const cluster = async (api: ApiClient) => (await api.request('GET', '/cluster')).data as Seen
const statesOf = ({ nodes }: Seen) => nodes.map(({ state }) => state).join(' ')
/** After a start its HAProxy may still be starting, and on a busy machine a health check may be late. */
const serves = (number: number, port = 8090) =>
  until(
    `HAProxy ${number}`,
    () => status(number, port),
    (found) => found === 200,
  )
/** Each node finds out for itself who votes, and whether there is a quorum. */
const become = (api: ApiClient, states: string) =>
  until(
    states,
    () => cluster(api),
    (seen) => statesOf(seen) === states && seen.quorum && seen.nodes.every(({ isVoter }) => isVoter),
  )

t.test('three nodes with one command', async (t) => {
  const programs = await etcdPrograms()
  if (typeof programs === 'string') return t.pass(`# SKIP ${programs}`)
  const { etcd } = programs
  const state = join(temporaryFolder(t, 'nodes'), 'state')
  const ofIt = () => findProcesses((words) => words.some((word) => word.includes(`${state}/`)))
  const allGone = () => until('the end of all', ofIt, (found) => found.length === 0)
  const start = (t2: Test, args?: readonly string[]) => {
    const started = new Started(state, etcd, args)
    t2.teardown(async () => {
      await started.end('SIGTERM')
    })
    return started
  }
  t.teardown(async () => {
    for (const { pid } of ofIt()) killIfAlive(pid)
  })

  await t.test('a port in use is reported before anything starts', async (t2) => {
    const server = createServer().listen(9445, `${NETWORK}.2`)
    await once(server, 'listening')
    const refused = start(t2)
    const [code] = await once(refused.child, 'close')
    server.close()
    t2.equal(code, 1)
    t2.match(refused.stderr, `fulcrum: node 2 cannot listen on ${NETWORK}.2:9445: `)
    t2.same(ofIt(), [])
  })

  await t.test('a first start that is killed midway leaves nothing, and the next one starts from scratch', async () => {
    const cut = start(t)
    await cut.says('node 1 of 3 has created the cluster')
    await cut.end('SIGKILL')
    await allGone()
  })

  const first = start(t)
  await first.ready()
  t.match(
    first.stdout,
    /node 1 of 3 has created the cluster[^]*node 2 of 3 has joined[^]*node 3 of 3 has joined[^]*all 3 /,
  )
  const password = /Password +(\S{20}) {3}\(shown only once\)/.exec(first.stdout)?.[1] ?? ''
  const [one, two, three] = [node(1), node(2), node(3)]
  for (const api of [one, two, three]) t.equal((await api.logIn('admin@localhost', password)).status, 200)
  const { id } = await cluster(one)

  await t.test('all of them vote and serve the demonstration', async (t2) => {
    for (const api of [one, two, three]) t2.match(await become(api, 'online online online'), { id })
    const { frontend } = JSON.parse(readFileSync(join(state, 'nodes.json'), 'utf8')).demo
    for (const number of NUMBERS) t2.equal(await serves(number, frontend), 200)
    const refused = await two.request('DELETE', '/demo')
    t2.match(refused, { status: 501, text: 'NOT_SUPPORTED' }, 'node 1 has created it')
  })

  await t.test('changes applied on one are served by each, at its own address', async (t2) => {
    const [rip] = (await one.request('GET', '/ipvsDirector/rips')).data as readonly { readonly id: string }[]
    const defaultBackendId = await one.create('/layer7proxy/backends', {
      name: 'web',
      mode: 'http',
      reals: [{ ripId: rip?.id }],
    })
    const frontend = { name: 'web', mode: 'http', defaultBackendId, ports: '8090' }
    const shared = await one.create('/layer7proxy/frontends', { ...frontend, ip: `${NETWORK}.2` })
    const refused = await one.request('PUT', '/services/apply')
    t2.match(refused, { status: 422, text: `l7Frontends.${shared}.ip` })
    t2.equal((await one.request('PUT', `/layer7proxy/frontends/${shared}`, { ip: '127.0.0.1' })).status, 200)
    t2.equal((await one.request('PUT', '/services/apply', { comment: 'web' })).status, 200)
    for (const number of NUMBERS) t2.equal(await status(number, 8090), 200)
  })

  const ids = (await cluster(one)).nodes.map((member) => member.id)
  const told = async (api: ApiClient, path: string) => JSON.parse((await api.request('GET', path)).text)
  /** A late answer, on a busy machine, is reported as missing. */
  const toldOfAll = (api: ApiClient, path: string, away = 0) =>
    until(
      `${path} of all but ${away}`,
      () => told(api, path),
      ({ missing }) => missing.length === away,
    )

  await t.test('each node counts for itself, and knows all nodes', async (t2) => {
    for (const api of [one, two, three]) {
      const counts = async () => {
        const { text } = await api.request('GET', '/metrics')
        const lines = (metric: string) =>
          text.split('\n').filter((line) => line.startsWith(metric) && line.endsWith(' 1')).length
        return ['quorum', 'node_online{', 'node_leads{'].map((metric) => lines(`fulcrum_cluster_${metric}`))
      }
      // Each finds out for itself who leads, and on a busy machine one may seem gone for a moment.
      await until('what is so', counts, (found) => found.join() === '1,3,1')
      const { quorum, nodes } = (await told(api, '/overview')).data
      t2.same([quorum, nodes.length, nodes.filter((each: { isLeader: boolean }) => each.isLeader).length], [true, 3, 1])
    }
  })

  await t.test('each node reports all of them', async (t2) => {
    const applied = await until(
      'each to be known',
      () => told(three, '/services/apply'),
      ({ data }) => data.nodes.every(({ state: its }: { readonly state: string }) => its !== 'unknown'),
    )
    t2.same(applied.data.nodes.map((member: { readonly nodeId: string }) => member.nodeId).toSorted(), ids.toSorted())
    const outcome = { state: 'idle', revision: applied.data.revision, outcome: 'applied' }
    t2.match(applied.data.nodes, [outcome, outcome, outcome])
    t2.match(applied.data, { comment: 'web', nodes: [{ nodeId: ids[2] }, {}, {}] })
    const audit = await toldOfAll(two, '/audit?node=all&endpoint=services.apply&outcome=done')
    t2.match(audit, { nodes: { length: 3 }, missing: [], data: [{ nodeId: ids[0], status: 200 }] })
    t2.same((await told(two, `/audit?node=${ids[1]}&endpoint=services.apply&outcome=done`)).data, [])
    t2.match(await toldOfAll(two, '/jobs?node=all'), { status: 'success', nodes: { length: 3 }, missing: [] })
    t2.match(await two.request('GET', '/jobs?node=none'), { status: 404 })
    const { nodes, missing } = await told(two, '/ipvsDirector/stats')
    t2.equal(nodes.length + missing.length, 3, 'whether or not it may read the table of this kernel')
  })

  await t.test('a node that ends stops its HAProxy; the others continue', async (t2) => {
    process.kill(first.pidOf(2), 'SIGTERM')
    await first.says('Node 2 has ended (exit code 0)')
    for (const api of [one, three]) await become(api, 'online unreachable online')
    t2.match(await toldOfAll(one, '/jobs?node=all', 1), {
      nodes: [ids[0], ids[2]],
      missing: [{ nodeId: ids[1], why: String }],
    })
    const { missing } = await told(three, '/ipvsDirector/stats/frontends')
    t2.ok(missing.some(({ nodeId }: { readonly nodeId: string }) => nodeId === ids[1]))
    const away = { nodeId: ids[1], state: 'unknown', revision: null, outcome: 'unknown' }
    t2.match((await told(one, '/services/apply')).data.nodes[1], away)
    t2.same([await status(1, 8090), await status(2, 8090), await status(3, 8090)], [200, 0, 200])
    await three.create('/ipvsDirector/rips', { name: 'meanwhile', ip: '192.0.2.1', port: 80 })
  })

  await t.test('a node whose daemon is killed continues to serve', async (t2) => {
    process.kill(first.pidOf(1), 'SIGKILL')
    await first.says('Node 1 has ended (ended by SIGKILL)')
    t2.same([await status(1, 8090), await status(3, 8090)], [200, 200])
  })

  await t.test('both start on request, and catch up', async () => {
    first.child.kill('SIGUSR2')
    await become(three, 'online online online')
    // The others reach it before its API answers.
    const names = async () => {
      const answer = await two.request('GET', '/ipvsDirector/rips')
      return answer.status === 200 ? (answer.data as readonly { name: string }[]).map(({ name }) => name) : []
    }
    await until('what it missed', names, (found) => found.includes('meanwhile'))
    for (const number of NUMBERS) await serves(number)
  })

  await t.test('nothing survives a killed parent', async (t2) => {
    const again = start(t2)
    const [code] = await once(again.child, 'close')
    t2.match([code, again.stderr], [1, /cannot be locked: another daemon is using it/])
    await first.end('SIGKILL')
    await allGone()
  })

  await t.test('the next start is the same cluster', async (t2) => {
    const second = start(t2)
    await second.ready()
    t2.notMatch(second.stdout, /formed|joined|Password/)
    t2.equal((await two.logIn('admin@localhost', password)).status, 200)
    t2.match(await become(two, 'online online online'), { id })
    for (const number of NUMBERS) t2.equal(await serves(number), 200)
    process.kill(second.pidOf(3), 'SIGKILL')
    await second.says('Node 3 has ended')
    t2.equal(await second.end('SIGINT'), 0)
    t2.match(second.stdout, /Stopped {8}3 nodes, with their HAProxys and etcds\n$/)
    t2.same(ofIt(), [], 'nor that of the killed one')
  })

  await t.test('another number of nodes makes another cluster', async (t2) => {
    const other = start(t2, ['--nodes', '4'])
    const [code] = await once(other.child, 'close')
    t2.match([code, other.stderr], [1, /has 3 nodes: start it with --nodes 3/])
  })
  return undefined
})
