import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { until } from '../fixtures/until.ts'

/** Returns the answer of a HAProxy to one line on a command socket; rejects when nothing listens. */
export function ask(path: string, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(path, () => socket.end(`${line}\n`))
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    socket.on('error', reject)
    socket.on('end', () => resolve(answer))
  })
}

export interface PlainHaproxy {
  readonly folder: string
  readonly configFile: string
  readonly statsSocket: string
  readonly masterSocket: string
  start(): Promise<void>
  /** Ends it and waits until it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Reloads it through the master; resolves when a new worker answers. */
  reload(): Promise<void>
  /** Writes another configuration, which the next start or reload reads. */
  configure(proxies: string): void
}

/** A HAProxy that is run by others: its own configuration, a master and a stats socket; ended with the test. */
export function plainHaproxy(t: Test, proxies: string, statsOptions = 'level admin'): PlainHaproxy {
  const folder = mkdtempSync(join(tmpdir(), 'plain-haproxy-'))
  const configFile = join(folder, 'haproxy.cfg')
  const statsSocket = join(folder, 'stats.sock')
  const masterSocket = join(folder, 'master.sock')
  let child: ChildProcess | undefined
  const configure = (text: string): void => {
    const global = `global\n  stats socket ${statsSocket} mode 600 ${statsOptions}\n  hard-stop-after 60s\n  fd-hard-limit 4096\n`
    writeFileSync(configFile, `${global}${text}\n`)
  }
  const worker = async (): Promise<string | undefined> =>
    /^Pid: (\d+)$/m.exec(await ask(masterSocket, '@1 show info').catch(() => ''))?.[1]
  const untilWorker = (isNew: (pid: string) => boolean) =>
    until('its worker', worker, (pid) => pid !== undefined && isNew(pid))
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  configure(proxies)
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    configFile,
    statsSocket,
    masterSocket,
    configure,
    stop,
    async start() {
      child = spawn('haproxy', ['-W', '-S', masterSocket, '-f', configFile], { stdio: 'ignore' })
      await untilWorker(() => true)
    },
    async reload() {
      const before = await worker()
      // 2.6 closes the connection when the master replaces itself.
      await ask(masterSocket, 'reload').catch(() => '')
      await untilWorker((pid) => pid !== before)
    },
  }
}

export interface Recorded {
  /** Every received line. */
  readonly lines: readonly string[]
  /** Longest time until an answer began, or its client left. */
  readonly slowest_ms: () => number
}

/** Passes connections on to `target`. */
export async function recordingProxy(t: Test, path: string, target: string): Promise<Recorded> {
  const lines: string[] = []
  let slowest_ms = 0
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const onward = connect({ path: target, allowHalfOpen: true })
    for (const socket of [client, onward]) {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      // Either side may leave at any time; the other one then sees the end.
      socket.on('error', () => {
        client.destroy()
        onward.destroy()
      })
    }
    client.on('data', (data) => {
      lines.push(...data.toString().split('\n').filter(Boolean))
      const asked_ms = performance.now()
      const ended = () => (slowest_ms = Math.max(slowest_ms, performance.now() - asked_ms))
      // The client may not wait for the answer.
      client.once('close', ended)
      onward.once('data', () => {
        client.off('close', ended)
        ended()
      })
    })
    client.pipe(onward)
    onward.pipe(client)
  })
  server.listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return { lines, slowest_ms: () => slowest_ms }
}
