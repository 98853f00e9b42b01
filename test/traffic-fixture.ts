import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import type { Test } from 'tap'

export interface Origin {
  readonly name: string
  readonly port: number
  served: number
}

/** An HTTP server that answers with its name; `/health` is not counted. */
export async function startOrigin(test: Test, name: string): Promise<Origin> {
  const origin = { name, port: 0, served: 0 }
  const server: Server = createServer((incoming, answer) => {
    if (incoming.url !== '/health') origin.served += 1
    answer.end(`${name}\n`.padEnd(500, '.'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  origin.port = (server.address() as AddressInfo).port
  return origin
}

export async function freePort(): Promise<number> {
  const server = createTcpServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export interface Fetched {
  readonly text: string
  readonly sent_bytes: number
  readonly received_bytes: number
}

/** One request on a connection of its own; counts every byte on the wire. Rejects on anything but a whole answer. */
export function fetchOnce(port: number, path = '/'): Promise<Fetched> {
  const message = `GET ${path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(message))
    const parts: Buffer[] = []
    socket.setTimeout(10_000, () => socket.destroy(new Error('timed out')))
    socket.on('data', (part) => parts.push(part))
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(parts).toString()
      if (text.startsWith('HTTP/1.1 200') && text.includes('\r\n\r\n')) {
        resolve({ text, sent_bytes: message.length, received_bytes: text.length })
      } else reject(new Error(`no whole answer: ${JSON.stringify(text.slice(0, 60))}`))
    })
  })
}
