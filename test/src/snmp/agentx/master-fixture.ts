import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Oid, Reader } from '../../../../src/snmp/agentx/bytes.ts'
import { HEADER_BYTES, readHeader, responsePdu } from '../../../../src/snmp/agentx/pdu.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

const NO_VALUES: Readonly<Record<number, string>> = { 128: 'noSuchObject', 129: 'noSuchInstance', 130: 'endOfMibView' }

/** Returns the variables of a response. */
export function varBindsOf(
  response: Buffer,
): readonly { readonly oid: Oid; readonly value: string | number | bigint }[] {
  const reader = new Reader(response, true, HEADER_BYTES + 8)
  const found = []
  while (reader.left > 0) {
    const type = reader.u16()
    reader.u16()
    const { oid } = reader.oid()
    const high = () => (BigInt(reader.u32()) << 32n) + BigInt(reader.u32())
    const value = NO_VALUES[type] ?? (type === 4 ? reader.octets().toString() : type === 70 ? high() : reader.u32())
    found.push({ oid, value })
  }
  return found
}

/** A master agent that accepts every session. Received PDUs are kept. */
export async function masterAgent(test: Test, refused: readonly number[] = []) {
  const path = join(temporaryFolder(test, 'agentx'), 'master')
  const seen: { readonly type: number; readonly bytes: Buffer }[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let received = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      for (let header = readHeader(received); header !== undefined; header = readHeader(received)) {
        const end = HEADER_BYTES + header.payloadBytes
        if (received.length < end) break
        seen.push({ type: header.type, bytes: received.subarray(0, end) })
        received = received.subarray(end)
        // Requests of the subagent are granted, as session 7.
        const error = refused.includes(header.type) ? 263 : 0
        if (header.type !== 18) socket.write(responsePdu({ ...header, sessionId: 7 }, error, 0, []))
        server.emit('seen')
      }
    })
    socket.on('close', () => {
      sockets.delete(socket)
      server.emit('seen')
    })
  })
  const listen = async () => {
    server.listen(path)
    await once(server, 'listening')
  }
  await listen()
  const hangUp = () => sockets.forEach((socket) => socket.destroy())
  test.teardown(() => {
    hangUp()
    server.close()
  })
  /** Resolves when this holds for the received PDUs. */
  const until = async (holds: () => boolean) => {
    while (!holds()) await once(server, 'seen')
  }
  return {
    path,
    seen,
    until,
    hangUp,
    listen,
    types: () => seen.map(({ type }) => type),
    send: (bytes: Uint8Array) => sockets.forEach((socket) => socket.write(bytes)),
    connections: () => sockets.size,
    close: () => {
      server.close()
      hangUp()
    },
  }
}
