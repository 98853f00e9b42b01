import { connect, createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import { haproxyRhythm } from '../../../workers/archive/rhythms.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

/** For answers that arrive: no test ends sooner because a machine is slow. */
export const PATIENCE_MS = 60_000

/** The rhythm of a process behind its stats socket, where a simulated second may take longer than a real one. */
export function patientRhythm(path: string): ReturnType<typeof haproxyRhythm> {
  const rhythm = haproxyRhythm({ kind: 'stats-socket', path })
  return {
    ...rhythm,
    feed(writer) {
      const feed = rhythm.feed(writer)
      const poll = feed.poll.bind(feed)
      return Object.assign(feed, { poll: () => poll(PATIENCE_MS) })
    },
  }
}

/** A socket that answers each request line with the result of `answer`; `undefined` keeps the client waiting. */
export async function listen(t: Test, answer: (request: string) => string | undefined): Promise<string> {
  const path = join(temporaryFolder(t), 'haproxy.sock')
  const sockets = new Set<Socket>()
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      const text = answer(data.toString())
      if (text !== undefined) socket.end(text)
    })
  }).listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return path
}

/** A Unix socket without a free place, until it accepts the waiting connections, and answers each. */
export async function listenFull(t: Test, answer: string) {
  const path = join(temporaryFolder(t), 'full.sock')
  const flag = new Int32Array(new SharedArrayBuffer(4))
  const code = `
    const { parentPort, workerData: { path, flag, answer } } = require('node:worker_threads')
    const server = require('node:net').createServer((socket) => socket.on('error', () => undefined).end(answer))
    server.listen({ path, backlog: 1 }, () => {
      parentPort.postMessage('it listens, and takes nobody')
      Atomics.wait(flag, 0, 0)
    })`
  const worker = new Worker(code, { eval: true, workerData: { path, flag, answer } })
  await once(worker, 'message')
  const waiting: Socket[] = []
  const takeAll = () => {
    Atomics.store(flag, 0, 1)
    Atomics.notify(flag, 0)
  }
  t.teardown(async () => {
    for (const socket of waiting) socket.destroy()
    takeAll()
    await worker.terminate()
  })
  for (let isFull = false; !isFull;) {
    const socket = connect(path)
    waiting.push(socket)
    isFull = await once(socket, 'connect').then(
      () => false,
      () => true,
    )
  }
  return { path, takeAll }
}

export const STATS = '# pxname,svname,scur,stot,bin,bout,type,\nfe,FRONTEND,1,2,3,4,0,\n\n'

export function showProc(workers: readonly number[], old: readonly number[] = []): string {
  const line = (pid: number): string => `${pid} worker 0 0d00h01m00s 2.6.12`
  return [
    '#<PID> <type> <reloads> <uptime> <version>',
    '1 master 0 [failed: 0] 0d00h02m00s 2.6.12',
    '# workers',
    ...workers.map(line),
    ...(old.length > 0 ? ['# old workers', ...old.map(line)] : []),
    '# programs',
    '',
    '',
  ].join('\n')
}

/** A command socket with persistent sessions: each line is answered separately, and a prompt follows. */
export async function listenForSessions(
  t: Test,
  answer: (command: string) => string | undefined,
): Promise<{ readonly path: string; readonly open: ReadonlySet<Socket>; closed(): Promise<void> }> {
  const path = join(temporaryFolder(t), 'worker.sock')
  const open = new Set<Socket>()
  const server: Server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      for (const command of data.toString().trimEnd().split('\n')) {
        const text = command === 'prompt' ? '' : answer(command)
        // The empty line at the end of an answer is the beginning of the prompt.
        if (text !== undefined) socket.write(`${text.replace(/\n$/, '')}\n> `)
      }
    })
  }).listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return {
    path,
    open,
    /** Resolves when no session is left. */
    async closed() {
      for (const socket of open) await once(socket, 'close')
    },
  }
}

/**
 * On a Unix socket and on a port: accepts every request, answers with `begin` at most, and ends nothing before
 * `hangUp`.
 */
export async function listenForSilence(t: Test, begin = '') {
  const path = join(temporaryFolder(t), 'silent.sock')
  const open = new Set<Socket>()
  let taken = 0
  const take = (socket: Socket) => {
    taken += 1
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    socket.resume().write(begin)
  }
  const servers = [path, 0].map((place) => createServer({ allowHalfOpen: true }, take).listen(place))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const hangUp = async () => {
    const ended = [...open].map((socket) => once(socket, 'close'))
    for (const socket of open) socket.destroy()
    await Promise.all(ended)
  }
  t.teardown(() => {
    void hangUp()
    for (const server of servers) server.close()
  })
  const address = servers[1]?.address()
  return {
    path,
    port: typeof address === 'object' && address !== null ? address.port : 0,
    open,
    taken: () => taken,
    hangUp,
  }
}
