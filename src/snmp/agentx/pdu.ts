import { Malformed, type Oid, Reader, type VarBind, Writer } from './bytes.ts'

/** The PDUs of a subagent that only answers (RFC 2741, 6.1). */
export const HEADER_BYTES = 20
/** A master that sends more uses another protocol. */
const PAYLOAD_BYTES_MAX = 2 ** 20
const VERSION = 1
const NON_DEFAULT_CONTEXT = 0x08
const NETWORK_BYTE_ORDER = 0x10

export const TYPE = {
  open: 1,
  close: 2,
  register: 3,
  get: 5,
  getNext: 6,
  getBulk: 7,
  testSet: 8,
  commitSet: 9,
  undoSet: 10,
  cleanupSet: 11,
  ping: 13,
  response: 18,
} as const

/** The values of the error field that a subagent needs. */
export const ERROR = { none: 0, genErr: 5, notWritable: 17, parseError: 266, unsupportedContext: 262 } as const

export interface Header {
  readonly type: number
  readonly sessionId: number
  readonly transactionId: number
  readonly packetId: number
  readonly payloadBytes: number
  readonly isBig: boolean
  readonly hasContext: boolean
}

/** The start of a search, and the identifier before which it ends; an empty `end` means no limit. */
export interface SearchRange {
  readonly start: Oid
  readonly isIncluded: boolean
  readonly end: Oid
}

export type Pdu =
  | { readonly kind: 'get' | 'getNext'; readonly ranges: readonly SearchRange[] }
  | {
      readonly kind: 'getBulk'
      readonly nonRepeaters: number
      readonly repetitions: number
      readonly ranges: readonly SearchRange[]
    }
  | { readonly kind: 'testSet' | 'commitSet' | 'undoSet' | 'cleanupSet' | 'ping' | 'close' | 'unknown' }
  | { readonly kind: 'response'; readonly error: number }
  /** A request for another context than the default one. */
  | { readonly kind: 'context' }

/** Returns undefined while bytes are missing. Throws Malformed when this cannot be AgentX. */
export function readHeader(bytes: Buffer): Header | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const flags = bytes.readUInt8(2)
  const isBig = (flags & NETWORK_BYTE_ORDER) !== 0
  const reader = new Reader(bytes, isBig)
  if (reader.u8() !== VERSION) throw new Malformed('another version of AgentX')
  const type = reader.u8()
  reader.u16()
  const [sessionId, transactionId, packetId, payloadBytes] = [reader.u32(), reader.u32(), reader.u32(), reader.u32()]
  if (payloadBytes > PAYLOAD_BYTES_MAX || payloadBytes % 4 !== 0)
    throw new Malformed(`${payloadBytes} bytes in one PDU`)
  return {
    type,
    sessionId,
    transactionId,
    packetId,
    payloadBytes,
    isBig,
    hasContext: (flags & NON_DEFAULT_CONTEXT) !== 0,
  }
}

/** Reads the payload. Throws Malformed when it does not match its type. */
export function readPdu({ type, isBig, hasContext }: Header, payload: Buffer): Pdu {
  const reader = new Reader(payload, isBig)
  if (hasContext && reader.octets().length > 0) return { kind: 'context' }
  switch (type) {
    case TYPE.get:
      return { kind: 'get', ranges: readRanges(reader) }
    case TYPE.getNext:
      return { kind: 'getNext', ranges: readRanges(reader) }
    case TYPE.getBulk:
      return { kind: 'getBulk', nonRepeaters: reader.u16(), repetitions: reader.u16(), ranges: readRanges(reader) }
    case TYPE.response:
      reader.u32()
      return { kind: 'response', error: reader.u16() }
    default:
      return { kind: PLAIN.get(type) ?? 'unknown' }
  }
}

const PLAIN = new Map(
  (['testSet', 'commitSet', 'undoSet', 'cleanupSet', 'ping', 'close'] as const).map((kind) => [TYPE[kind], kind]),
) as ReadonlyMap<number, 'testSet' | 'commitSet' | 'undoSet' | 'cleanupSet' | 'ping' | 'close'>

function readRanges(reader: Reader): readonly SearchRange[] {
  const ranges: SearchRange[] = []
  while (reader.left > 0) {
    const { oid: start, include } = reader.oid()
    ranges.push({ start, isIncluded: include, end: reader.oid().oid })
  }
  return ranges
}

type Ids = Pick<Header, 'sessionId' | 'transactionId' | 'packetId'>

function pdu(type: number, ids: Ids, write: (writer: Writer) => void): Buffer {
  const writer = new Writer()
  writer.u8(VERSION)
  writer.u8(type)
  writer.u8(NETWORK_BYTE_ORDER)
  writer.u8(0)
  for (const number of [ids.sessionId, ids.transactionId, ids.packetId, 0]) writer.u32(number)
  write(writer)
  const bytes = writer.bytes()
  bytes.writeUInt32BE(bytes.length - HEADER_BYTES, HEADER_BYTES - 4)
  return bytes
}

/** Returns the first PDU; the master answers with the session. */
export function openPdu(packetId: number, timeout_s: number, description: string): Buffer {
  return pdu(TYPE.open, { sessionId: 0, transactionId: 0, packetId }, (writer) => {
    writer.u8(timeout_s)
    writer.u8(0)
    writer.u16(0)
    writer.oid([])
    writer.octets(description)
  })
}

/** Returns the registration of a subtree, with the default priority. */
export function registerPdu(sessionId: number, packetId: number, subtree: Oid): Buffer {
  const priority = 127
  return pdu(TYPE.register, { sessionId, transactionId: 0, packetId }, (writer) => {
    writer.u8(0)
    writer.u8(priority)
    writer.u16(0)
    writer.oid(subtree)
  })
}

export function pingPdu(sessionId: number, packetId: number): Buffer {
  return pdu(TYPE.ping, { sessionId, transactionId: 0, packetId }, () => undefined)
}

/** Returns the announcement that this subagent shuts down. */
export function closePdu(sessionId: number, packetId: number): Buffer {
  const reasonShutdown = 5
  return pdu(TYPE.close, { sessionId, transactionId: 0, packetId }, (writer) => {
    writer.u8(reasonShutdown)
    writer.u8(0)
    writer.u16(0)
  })
}

/** Returns a response. `index` is that of the variable with the error, from 1. */
export function responsePdu(to: Ids, error: number, index: number, found: readonly VarBind[]): Buffer {
  return pdu(TYPE.response, to, (writer) => {
    writer.u32(0)
    writer.u16(error)
    writer.u16(index)
    for (const one of found) writer.varBind(one)
  })
}
