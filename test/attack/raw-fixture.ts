import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Test } from 'tap'
import { createAppliance } from '../../src/appliance/appliance.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { ADMIN, type Caller, caller, recordingMachine, testSettings } from '../fixtures/appliance.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

/**
 * A daemon whose log is kept, whose clock advances with each call so that no call has to wait, and its administrator.
 */
export async function loggedFixture(test: Test, frontThreads = 0) {
  const state = temporaryFolder(test, 'attack')
  const machine = recordingMachine(state)
  const lines: string[] = []
  let waited_ms = 0
  const clock = { ...systemClock, monotonic_ms: () => systemClock.monotonic_ms() + waited_ms }
  const settings = testSettings(state, { http: { host: '127.0.0.1', port: 0 }, frontThreads })
  const appliance = await createAppliance(
    settings,
    machine,
    createLog((line) => lines.push(line)),
    clock,
  )
  test.teardown(() => appliance.close())
  const anonymous = caller(appliance)
  const { json } = await anonymous('POST', '/token', { body: ADMIN })
  const token = String(json.data.token)
  const asked = caller(appliance, token)
  const call: Caller = (...request) => {
    waited_ms += 5_000
    return asked(...request)
  }
  return { appliance, machine, state, lines, node: appliance.nodeId, token, call, anonymous }
}

/** The same daemon, which really listens, with and without TLS. */
export async function listeningFixture(test: Test, frontThreads = 0) {
  const made = await loggedFixture(test, frontThreads)
  const [tls, plain] = await made.appliance.listen()
  if (tls === undefined || plain === undefined) throw new Error('it does not listen on both')
  return { ...made, ports: { tls: tls.port, plain: plain.port } }
}

export type Kind = 'tls' | 'plain'

export async function connected(kind: Kind, port: number): Promise<Socket> {
  if (kind === 'plain') {
    const socket = connectPlain(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  // The daemon has generated this certificate itself.
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

export interface Exchanged {
  readonly text: string
  /** The status of each answer, in order. */
  readonly statuses: readonly number[]
  readonly isClosed: boolean
}

/** Longest wait for an expected answer. */
const WANTED_MS = 60_000
/** Time without data after which no more is expected. */
const QUIET_MS = 300

/** Sends these bytes and collects the answers: so many, and whatever follows soon. */
export async function exchange(
  kind: Kind,
  port: number,
  bytes: readonly (string | Uint8Array)[],
  wanted = 0,
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
  const statuses = () =>
    [
      ...Buffer.concat(received)
        .toString('latin1')
        .matchAll(/HTTP\/1\.1 (\d{3}) /g),
    ].map(([, status]) => Number(status))
  const limit_ms = () => (statuses().length < wanted ? WANTED_MS : QUIET_MS)
  while (!isClosed && performance.now() - heard < limit_ms()) await wait(10)
  socket.destroy()
  return { text: Buffer.concat(received).toString('latin1'), statuses: statuses(), isClosed }
}
