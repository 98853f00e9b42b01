import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Test } from 'tap'
import { createAppliance } from '../../src/appliance.ts'
import { silentLog } from '../../src/log.ts'
import { ADMIN, caller, recordingMachine, testSettings } from '../appliance-fixture.ts'
import { temporaryFolder } from '../config-fixture.ts'

/** A daemon that really listens, with and without TLS, and its administrator. */
export async function listeningFixture(test: Test) {
  const state = temporaryFolder(test, 'raw')
  const settings = testSettings(state, { http: { host: '127.0.0.1', port: 0 } })
  const appliance = await createAppliance(settings, recordingMachine(state), silentLog)
  const [tls, plain] = await appliance.listen()
  test.teardown(() => appliance.close())
  if (tls === undefined || plain === undefined) throw new Error('it does not listen on both')
  const anonymous = caller(appliance)
  const { json } = await anonymous('POST', '/token', { body: ADMIN })
  const token = String(json.data.token)
  return {
    appliance,
    node: appliance.nodeId,
    token,
    call: caller(appliance, token),
    anonymous,
    ports: { tls: tls.port, plain: plain.port },
  }
}

export type Kind = 'tls' | 'plain'

export async function connected(kind: Kind, port: number): Promise<Socket> {
  if (kind === 'plain') {
    const socket = connectPlain(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  // The certificate is one that the daemon has made for itself.
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

export interface Exchanged {
  readonly text: string
  /** Of each answer, in their order. */
  readonly statuses: readonly number[]
  readonly isClosed: boolean
}

/**
 * Sends these bytes and, unless that ended the connection, a request of our own behind them; collects all that comes back.
 * No answer is waited for longer than `limit_ms`.
 */
export async function exchange(
  kind: Kind,
  port: number,
  bytes: readonly (string | Uint8Array)[],
  limit_ms = 300,
): Promise<Exchanged> {
  const socket = await connected(kind, port)
  const received: Buffer[] = []
  let isClosed = false
  let heard = performance.now()
  socket.on('data', (chunk: Buffer) => {
    received.push(chunk)
    heard = performance.now()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => (isClosed = true))
  for (const part of bytes) {
    socket.write(part)
    if (bytes.length > 1) await wait(5)
  }
  while (!isClosed && performance.now() - heard < limit_ms) await wait(10)
  socket.destroy()
  const text = Buffer.concat(received).toString('latin1')
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  return { text, statuses, isClosed }
}
