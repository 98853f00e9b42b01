/** A HAProxy for tests: temporary folder, free ports, ended by process id. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killIfAlive } from '../../fixtures/kill.ts'
import { until } from '../../fixtures/until.ts'

export interface HaproxyFixture {
  readonly directory: string
  readonly port: number
  readonly masterSocket: string
  readonly statsSocket: string
  start(): Promise<void>
  kill(): Promise<void>
  command(text: string): Promise<string>
  /** Sends requests, each over a connection of its own; returns the number of received bodies. */
  request(count: number): Promise<number>
  /**
   * Opens a connection with half a request, which keeps its worker alive over a reload; returns a function that ends
   * it.
   */
  hold(): Promise<() => Promise<void>>
  remove(): Promise<void>
}

export const FRONTEND_ID = '0198c0de-0000-7000-8000-00000000000f'
export const BACKEND_ID = '0198c0de-0000-7000-8000-00000000000b'
export const REAL_IDS = ['0198c0de-0000-7000-8000-000000000001', '0198c0de-0000-7000-8000-000000000002'] as const
export const BODY_BYTES = 1_000

/** The option `skip` of a test that needs the program. */
export const skip = spawnSync('haproxy', ['-v']).status === 0 ? false : 'haproxy is not installed'

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function startOrigin(): Promise<Server> {
  const origin = createServer((_request, response) => response.end('x'.repeat(BODY_BYTES))).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  return origin
}

function ask(path: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ path })
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('end', () => resolve(Buffer.concat(chunks).toString()))
    socket.on('error', reject)
    socket.end(`${text}\n`)
  })
}

function fetchOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false, headers: { connection: 'close' } }, (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => (bytes += chunk.length))
      response.on('end', () => resolve(bytes === BODY_BYTES ? 1 : 0))
    }).on('error', reject)
  })
}

export async function createHaproxy(): Promise<HaproxyFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'stats-haproxy-'))
  const origins = [await startOrigin(), await startOrigin()]
  const port = await freePort()
  const masterSocket = join(directory, 'master.sock')
  const statsSocket = join(directory, 'stats.sock')
  const servers = origins.map(
    (origin, i) => `  server ${REAL_IDS[i]} 127.0.0.1:${(origin.address() as AddressInfo).port}`,
  )
  const lines = [
    'global',
    '  nbthread 1',
    `  stats socket ${statsSocket} mode 600 level admin`,
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 30s',
    '  timeout server 30s',
    `frontend ${FRONTEND_ID}`,
    `  bind 127.0.0.1:${port}`,
    `  default_backend ${BACKEND_ID}`,
    `backend ${BACKEND_ID}`,
    ...servers,
    '  server fallback 127.0.0.1:9 backup',
    '',
  ]
  const config = join(directory, 'haproxy.cfg')
  writeFileSync(config, lines.join('\n'))
  let child: ChildProcess | undefined
  const workers = new Set<number>()
  const notePids = async (): Promise<void> => {
    for (const [, pid] of (await ask(masterSocket, 'show proc')).matchAll(/^(\d+)\s+worker/gm)) workers.add(Number(pid))
  }
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    await notePids().catch(() => undefined)
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    // The master is gone at once; its workers notice on their own, but a test must not depend on when.
    for (const pid of workers) killIfAlive(pid)
    workers.clear()
    rmSync(masterSocket, { force: true })
    rmSync(statsSocket, { force: true })
  }
  return {
    directory,
    port,
    masterSocket,
    statsSocket,
    async start() {
      child = spawn('haproxy', ['-W', '-S', `${masterSocket},mode,600`, '-f', config], { stdio: 'ignore' })
      await until('its sockets', () => existsSync(masterSocket) && existsSync(statsSocket), Boolean)
      const processes = () => ask(masterSocket, 'show proc').catch(() => '')
      await until('a worker', processes, (text) => /^\d+\s+worker/m.test(text))
      await notePids()
    },
    kill,
    command: (text) => ask(masterSocket, text),
    async request(count) {
      let done = 0
      for (let i = 0; i < count; i++) done += await fetchOnce(port)
      return done
    },
    async hold() {
      const socket = connect({ host: '127.0.0.1', port })
      await once(socket, 'connect')
      socket.write('GET / HTTP/1.1\r\n')
      return async () => {
        socket.destroy()
        await once(socket, 'close')
      }
    },
    async remove() {
      await kill()
      for (const origin of origins) origin.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
