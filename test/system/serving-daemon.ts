import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { askProcesses } from '../../workers/host/master.ts'
import { commandLine, findProcesses } from '../../workers/host/processes.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { hang } from '../fixtures/hang.ts'
import { fetchOnce, freePort, startOrigin } from '../fixtures/traffic.ts'

const HEALED_MS = 300_000

/** A daemon whose HAProxy serves one site. */
export async function serving(test: Test, state = temporaryFolder(test, 'daemon'), more: readonly string[] = []) {
  const daemon = new Daemon(state, ['--no-demo', ...more])
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  const origin = await startOrigin(test, 'one')
  const port = await freePort()
  const id = async (path: string, body: object) => (await daemon.data('POST', path, body)).id as string
  const ripId = await id('/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: origin.port })
  const backend = { name: 'web', mode: 'http', reals: [{ ripId }] }
  const defaultBackendId = await id('/layer7proxy/backends', backend)
  const frontend = { name: 'web', mode: 'http', ip: '127.0.0.1', ports: String(port), defaultBackendId }
  await id('/layer7proxy/frontends', frontend)
  await daemon.data('PUT', '/services/apply')
  const answers = () =>
    Promise.race([
      fetchOnce(port).then(
        () => true,
        () => false,
      ),
      late(),
    ])
  return { daemon, ripId, port, answers, served: () => until('traffic', answers, Boolean, HEALED_MS) }
}

/** Limits the wait for a connection to a process that hangs. */
const late = () => new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 500).unref())

export async function masterOf({ state }: Daemon): Promise<number> {
  const all = findProcesses((words) => words.includes(join(state, 'haproxy', 'haproxy.cfg')))
  const masters = all.filter(({ parent }) => !all.some(({ pid }) => pid === parent))
  if (masters.length !== 1) throw new Error(`there are ${masters.length} HAProxies`)
  return masters[0]?.pid ?? 0
}

export async function hungWorker(daemon: Daemon): Promise<number> {
  const processes = await askProcesses(join(daemon.state, 'haproxy', 'master.sock'))
  const worker = processes?.workers[0]?.pid ?? 0
  await hang(worker)
  return worker
}

export const gone = (pid: number) =>
  until(
    `the end of ${pid}`,
    () => commandLine(pid),
    ([program = '']) => program === '',
  )

/** Returns the sessions that the master has accepted and not ended. */
export const sessions = ({ state }: Daemon) =>
  readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .filter((line) => line.includes(' 03 ') && line.includes(join(state, 'haproxy', 'master.sock'))).length
