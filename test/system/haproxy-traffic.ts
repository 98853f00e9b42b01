import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { Pair } from '../fixtures/certificate-maker.ts'
import { httpServer } from '../fixtures/traffic.ts'
import { untilHolds } from '../fixtures/until.ts'

async function listening(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** An http server that answers its name. */
export const httpOrigin = (t: Test, name: string): Promise<number> =>
  httpServer(t, (_request, response) => void response.end(name))

/** The same port on several addresses of loopback; each answers with its address. */
export async function origins(test: Test, ips: readonly string[]): Promise<number> {
  let port = 0
  for (const ip of ips) {
    const server = createServer((_request, response) => response.end(ip))
    await once(server.listen(port, ip), 'listening')
    test.teardown(() => server.closeAllConnections())
    test.teardown(() => server.close())
    port = (server.address() as AddressInfo).port
  }
  return port
}

/** A tcp server that answers each message with its name and the message. */
export async function echoOrigin(t: Test, name: string): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => socket.write(`${name} ${chunk.toString()}`))
  })
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  return listening(t, server)
}

const PROXY_V2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const PROXY_HEAD_BYTES = 16
const TLS_HANDSHAKE = 0x16

/**
 * An origin that answers only clients that begin as it wants: with a PROXY header, and with TLS. Without TLS of its
 * own it takes both, as a check over TLS of plain traffic needs.
 */
export async function strictOrigin(
  t: Test,
  { tls, isTls, hasProxy }: { readonly tls: Pair; readonly isTls: boolean; readonly hasProxy: boolean },
): Promise<number> {
  const plain = await httpOrigin(t, 'plain')
  const secure = await listening(
    t,
    createTlsServer(tls, (_request, response) => void response.end('secure')),
  )
  const outer = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    let begun = Buffer.alloc(0)
    const begin = (piece: Buffer): void => {
      begun = Buffer.concat([begun, piece])
      const isProxied = begun.subarray(0, PROXY_V2.length).equals(PROXY_V2)
      const length = isProxied ? PROXY_HEAD_BYTES + begun.readUInt16BE(PROXY_HEAD_BYTES - 2) : 0
      if (isProxied === hasProxy && begun.length <= length) return
      const isHandshake = begun[length] === TLS_HANDSHAKE
      if (isProxied !== hasProxy || (isTls && !isHandshake)) {
        socket.destroy()
        return
      }
      socket.off('data', begin).pause()
      const inner = connect(isHandshake ? secure : plain, '127.0.0.1')
      // Checks end with a reset, which a pipe does not pass on.
      inner.on('error', () => undefined).on('close', () => socket.destroy())
      socket.on('close', () => inner.destroy())
      inner.write(begun.subarray(length))
      socket.pipe(inner).pipe(socket)
    }
    socket.on('data', begin)
  })
  return listening(t, outer)
}

export interface Answer {
  readonly status: number
  readonly body: string
  readonly cookie: string | undefined
}

/** One request on a new connection. */
export function get(port: number, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, agent: false, headers: { ...headers }, timeout: 60_000 },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (body += chunk))
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            body,
            cookie: response.headers['set-cookie']?.[0]?.split(';')[0],
          })
        })
        response.on('error', reject)
      },
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer within a minute')))
    sent.on('error', reject)
    sent.end()
  })
}

/** Opens new connections, several at a time, until `stop`; returns their number and the failed ones. */
export function keepAsking(port: number, parallel: number) {
  const failures: string[] = []
  const run = { asked: 0, stopped: false }
  const loop = async (): Promise<void> => {
    while (!run.stopped) {
      run.asked += 1
      try {
        const { status } = await get(port)
        if (status !== 200) failures.push(`status ${status}`)
      } catch (error) {
        failures.push(String(error))
      }
    }
  }
  const loops = Array.from({ length: parallel }, loop)
  const stop = async () => {
    run.stopped = true
    await Promise.all(loops)
    return { asked: run.asked, failures }
  }
  const until = (total: number) => untilHolds(() => run.asked >= total)
  return { stop, until }
}

/** A connection that stays open: sends a message and waits for its echo. */
export async function conversation(t: Test, port: number) {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const say = async (message: string): Promise<string> => {
    socket.write(message)
    const [chunk] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => ['(closed)'])])
    return String(chunk)
  }
  return { say, end: () => socket.end() }
}
