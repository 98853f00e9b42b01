import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Counted {
  connections: number
  received_bytes: number
  sent_bytes: number
}

/** First byte of a connection: the kind of service. */
const SHORT = 's'
const LONG = 'l'
const CHUNK = Buffer.alloc(4096, 'x')
const STREAM_EVERY_MS = 50
/** As long as the kernel allows. */
const BACKLOG = 4_096

/**
 * A TCP server that counts every connection and every byte itself: an answer and the end, or a stream until the client
 * ends.
 */
export async function countingOrigin(t: {
  teardown(end: () => unknown): unknown
}): Promise<Counted & { readonly port: number }> {
  const counted = { connections: 0, received_bytes: 0, sent_bytes: 0, port: 0 }
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    counted.connections++
    open.add(socket)
    let timer: NodeJS.Timeout | undefined
    const write = (bytes: Buffer): void => {
      counted.sent_bytes += bytes.length
      socket.write(bytes)
    }
    socket.on('data', (data: Buffer) => {
      counted.received_bytes += data.length
      if (timer !== undefined || data[0] !== LONG.charCodeAt(0)) return
      timer = setInterval(() => write(CHUNK), STREAM_EVERY_MS)
    })
    socket.on('end', () => {
      clearInterval(timer)
      write(CHUNK.subarray(0, 2000))
      socket.end()
    })
    socket.on('error', () => clearInterval(timer))
    socket.on('close', () => open.delete(socket))
  })
  // While this process is too busy, all of them wait in its queue: the kernel resets those that do not fit.
  server.listen({ port: 0, host: '127.0.0.1', backlog: BACKLOG })
  await once(server, 'listening')
  counted.port = (server.address() as AddressInfo).port
  t.teardown(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return counted
}

/** Opens short connections at a rate, and long ones of some seconds that stream in both directions, until `stop`. */
export function startLoad(port: number, { perSecond, streams }: { perSecond: number; streams: number }) {
  const counted: Counted = { connections: 0, received_bytes: 0, sent_bytes: 0 }
  const failures: string[] = []
  const running = { stopped: false }
  const converse = (kind: string, talk: (write: (text: string) => void) => Promise<void>): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      let isSaid = false
      const write = (text: string): void => {
        counted.sent_bytes += text.length
        socket.write(text)
      }
      socket.on('data', (data) => (counted.received_bytes += data.length))
      socket.on('error', (error) => failures.push(`${kind} ${error.message}`))
      socket.on('close', () => {
        if (!isSaid) failures.push(`${kind} was ended by the other side`)
        resolve()
      })
      socket.on('connect', () => {
        counted.connections++
        write(kind.padEnd(100, kind))
        void talk(write).then(() => {
          isSaid = true
          socket.end()
        })
      })
    })
  const shorts = async (): Promise<void> => {
    const pending = new Set<Promise<void>>()
    const began = performance.now()
    for (let sent = 0; !running.stopped; await sleep(5)) {
      for (; sent < ((performance.now() - began) / 1000) * perSecond; sent++) {
        const one = converse(SHORT, () => Promise.resolve()).finally(() => pending.delete(one))
        pending.add(one)
      }
    }
    await Promise.all(pending)
  }
  const stream = async (index: number): Promise<void> => {
    for (let round = 0; !running.stopped; round++) {
      const until = performance.now() + 1_000 + ((index * 3_701 + round * 2_309) % 11_000)
      await converse(LONG, async (write) => {
        while (!running.stopped && performance.now() < until) {
          write(LONG.repeat(700))
          await sleep(STREAM_EVERY_MS)
        }
      })
    }
  }
  const all = Promise.all([shorts(), ...Array.from({ length: streams }, (_, index) => stream(index))])
  return {
    counted,
    failures,
    async stop() {
      running.stopped = true
      await all
    },
  }
}
