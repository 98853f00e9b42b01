import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { ask } from '../system/plain-haproxy.ts'
import { fetchOnce, freePort, startOrigin } from '../fixtures/traffic.ts'

/** Servers that all clients edit. The first is never drained, so that traffic always has a server. */
const SERVERS = 6
const DISK_MIB = 96
/** Growth of the audit log and the archive. */
const DISK_MIB_PER_SECOND = 0.3

export interface World {
  readonly daemon: Daemon
  readonly disk: string
  /** Port for clients. */
  readonly port: number
  readonly rips: readonly string[]
  /** A server in no backend, edited by a single client. */
  readonly own: string
  readonly masterSocket: string
  readonly originPort: number
}

/** A daemon on its own small disk with a frontend, a backend and servers; removed with the test. */
export async function lifeWorld(test: Test, seconds: number): Promise<World> {
  const disk = mkdtempSync(join(tmpdir(), 'life-'))
  execFileSync('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${Math.ceil(DISK_MIB + DISK_MIB_PER_SECOND * seconds)}m,mode=0700`,
    'tmpfs',
    disk,
  ])
  test.teardown(() => {
    execFileSync('umount', ['--lazy', disk])
    rmSync(disk, { recursive: true, force: true })
  })
  const daemon = new Daemon(join(disk, 'state'), ['--no-demo'])
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  const origin = await startOrigin(test, 'origin')
  const rips: string[] = []
  for (let n = 0; n < SERVERS; n++) {
    const body = { name: `r${n}-0`, ip: '127.0.0.1', port: origin.port, weight: 100 }
    rips.push((await daemon.data('POST', '/ipvsDirector/rips', body)).id)
  }
  const own = (await daemon.data('POST', '/ipvsDirector/rips', { name: 'd-0', ip: '192.0.2.1', port: 9 })).id
  const reals = rips.map((ripId) => ({ ripId }))
  const healthCheck = { type: 'none' }
  const { id } = await daemon.data('POST', '/layer7proxy/backends', { name: 'be', mode: 'http', reals, healthCheck })
  const port = await freePort()
  const frontend = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: String(port), defaultBackendId: id }
  await daemon.data('POST', '/layer7proxy/frontends', frontend)
  await daemon.data('PUT', '/services/apply')
  return {
    daemon,
    disk,
    port,
    rips,
    own,
    originPort: origin.port,
    masterSocket: join(daemon.state, 'haproxy', 'master.sock'),
  }
}

/** Takes the remaining space of the disk; the returned function frees it. */
export function fill(disk: string): () => void {
  const filler = join(disk, `filler-${Math.random().toString(36).slice(2)}`)
  const { bavail, bsize } = statfsSync(disk)
  try {
    writeFileSync(filler, new Uint8Array(bavail * bsize))
  } catch {
    // As much as there was.
  }
  return () => rmSync(filler, { force: true })
}

/** Process ids of a HAProxy: its master, and the serving worker. */
export async function haproxyPids({ daemon, masterSocket }: World): Promise<{ master: number; worker: number }> {
  const file = join(daemon.state, 'haproxy', 'haproxy.pid')
  const master = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const answer = await ask(masterSocket, 'show proc')
  return { master, worker: Number(/^(\d+)\s+worker/m.exec(answer)?.[1] ?? 0) }
}

/** Resolves when traffic succeeds again, several times in a row. */
export async function untilServed({ port }: World, limit_ms: number): Promise<void> {
  const answers = async () => {
    for (let n = 0; n < 3; n++) await fetchOnce(port)
    return true
  }
  await until('traffic', () => answers().catch(() => false), Boolean, limit_ms)
}

/** State of HAProxy's servers by id: weight and administrative state, read from HAProxy itself. */
export async function haproxyServers({ masterSocket }: World): Promise<ReadonlyMap<string, string>> {
  const rows = (await ask(masterSocket, '@1 show stat')).split('\n').map((line) => line.split(','))
  const names = rows[0]?.map((name) => name.replace('# ', '')) ?? []
  const column = (row: readonly string[], name: string) => row[names.indexOf(name)] ?? ''
  const servers = rows.filter((row) => column(row, 'type') === '2')
  return new Map(servers.map((row) => [column(row, 'svname'), `${column(row, 'status')} ${column(row, 'weight')}`]))
}

/** Sends requests to the frontend until it is stopped; returns the times of failed ones. */
export function traffic({ port }: World): { stop(): Promise<{ served: number; failed: readonly number[] }> } {
  let isOver = false
  let served = 0
  const failed: number[] = []
  const client = async () => {
    while (!isOver) {
      const begin = performance.now()
      try {
        await fetchOnce(port)
        served += 1
      } catch {
        failed.push(begin)
      }
      await sleep(5)
    }
  }
  const clients = [client(), client()]
  return {
    async stop() {
      isOver = true
      await Promise.all(clients)
      return { served, failed }
    },
  }
}
