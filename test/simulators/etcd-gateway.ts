import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Credentials } from '../../src/etcd/gateway.ts'
import type { Ending } from '../fixtures/folder.ts'
import { TestCa } from '../fixtures/etcd-certificates.ts'

/** A request to a gateway. */
export interface Asked {
  readonly path: string
  readonly fields: unknown
  readonly headers: IncomingHttpHeaders
  /** Common name in the certificate of the client. */
  readonly from: string
}

export type Handler = (response: ServerResponse, asked: Asked) => void

export interface SimulatedGateway {
  readonly url: string
  readonly asked: readonly Asked[]
  readonly sockets: ReadonlySet<Socket>
  /** Closes it, so that nothing listens any more. */
  readonly close: () => Promise<void>
}

const ca = await TestCa.make('test authority')
/** Credentials that every simulated gateway accepts, and presents. */
export const CREDENTIALS: Credentials = await ca.issue('fulcrum')
/** From the same authority. */
export const RENEWED: Credentials = await ca.issue('renewed')

/** Answers with these fields. */
export const says =
  (fields: unknown, status = 200): Handler =>
  (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(fields))
  }

/** Accepts the request and never answers, like a suspended member. */
export const silent: Handler = () => undefined

/** For behaviour that etcd cannot show on demand: a gateway that answers as the test wants. */
export async function etcdGateway(test: Ending, handler: Handler, shown = CREDENTIALS): Promise<SimulatedGateway> {
  const asked: Asked[] = []
  const options = { ca: shown.ca, cert: shown.certificate, key: shown.key, requestCert: true }
  const server = createServer({ ...options, minVersion: 'TLSv1.3' }, (request, response) => {
    void read(request).then((text) => {
      const { url = '', headers, socket } = request
      const from = socket instanceof TLSSocket ? String(socket.getPeerCertificate().subject.CN) : ''
      const one = { path: url, fields: JSON.parse(text), headers, from }
      asked.push(one)
      handler(response, one)
    })
  })
  const sockets = new Set<Socket>()
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  test.teardown(close)
  return { url: `https://127.0.0.1:${address.port}`, asked, sockets, close }
}

async function read(request: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of request as AsyncIterable<Uint8Array>) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
