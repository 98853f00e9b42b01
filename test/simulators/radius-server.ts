import { createHash, createHmac } from 'node:crypto'
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'
import { type Attribute, CODE, encodePacket } from '../../src/radius/packet.ts'
import { NO_RADIUS } from '../../src/rules/radius.ts'
import type { RadiusConfig, RadiusHost } from '../../src/model/sign-in.ts'

export const SECRET = 'a shared secret of these tests'
const MESSAGE_AUTHENTICATOR = 80

export interface Answering {
  readonly code?: number
  readonly attributes?: readonly Attribute[]
  readonly secret?: string
  readonly identifier?: number
  /** Absent, or its position; last by default. */
  readonly messageAuthenticator?: 'none' | 'first' | 'last'
}

/** The answer of a server. */
export function answerTo(request: Buffer, answering: Answering = {}): Buffer {
  const { code = CODE.accessAccept, attributes = [], secret = SECRET, messageAuthenticator = 'last' } = answering
  const authenticator = request.subarray(4, 20)
  const signature = { type: MESSAGE_AUTHENTICATOR, value: Buffer.alloc(16) }
  const signed = { none: attributes, first: [signature, ...attributes], last: [...attributes, signature] }
  const identifier = answering.identifier ?? request[1] ?? 0
  const bytes = encodePacket({ code, identifier, authenticator, attributes: signed[messageAuthenticator] })
  const at = messageAuthenticator === 'first' ? 22 : bytes.length - 16
  if (messageAuthenticator !== 'none') bytes.set(createHmac('md5', secret).update(bytes).digest(), at)
  bytes.set(createHash('md5').update(bytes).update(secret).digest(), 4)
  return bytes
}

export type Reply = (datagram: Uint8Array) => void
export type Handler = (request: Buffer, reply: Reply, from: RemoteInfo) => void

/** A socket on loopback that behaves as the test wants. */
export async function radiusServer(test: Test, handle: Handler, address = '127.0.0.1') {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  const requests: Buffer[] = []
  socket.on('message', (request, from) => {
    // A previous user of this port may still get a datagram, which is no Access-Request.
    if (request[0] !== CODE.accessRequest) return
    requests.push(request)
    handle(request, (datagram) => socket.send(datagram, from.port, from.address), from)
  })
  socket.bind(0, address)
  await once(socket, 'listening')
  let isOpen = true
  const close = () => {
    if (isOpen) socket.close()
    isOpen = false
  }
  test.teardown(close)
  const { port } = socket.address()
  const host: RadiusHost = { host: address, port, sharedSecret: '', priority: 0 }
  return { port, host, requests, close }
}

/** A loopback address and port on which nothing listens: no other test uses this address. */
export async function closedHost(test: Test): Promise<RadiusHost> {
  const { host, close } = await radiusServer(test, () => undefined, '127.77.0.1')
  close()
  return host
}

/** A server that never answers. */
export async function silentHost(test: Test): Promise<RadiusHost> {
  const { host } = await radiusServer(test, () => undefined)
  return host
}

/** Gives up quickly. */
export const radiusConfig = (hosts: readonly RadiusHost[], more: Partial<RadiusConfig> = {}): RadiusConfig => ({
  ...NO_RADIUS,
  id: 'cluster',
  enabled: true,
  sharedSecret: SECRET,
  timeout: 1,
  retries: 0,
  hosts: [...hosts],
  denyUnmapped: false,
  ...more,
})
