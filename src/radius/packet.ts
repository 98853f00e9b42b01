/** Packets of RFC 2865, section 3: a header of 20 bytes, then attributes of type, length and value. */

export const CODE = { accessRequest: 1, accessAccept: 2, accessReject: 3, accessChallenge: 11 } as const

export const TYPE = {
  userName: 1,
  userPassword: 2,
  chapPassword: 3,
  nasIpAddress: 4,
  serviceType: 6,
  replyMessage: 18,
  vendorSpecific: 26,
  nasIdentifier: 32,
  proxyState: 33,
  chapChallenge: 60,
  nasPortType: 61,
  messageAuthenticator: 80,
  nasIpv6Address: 95,
} as const

export const HEADER_LENGTH = 20
export const AUTHENTICATOR_LENGTH = 16
export const VALUE_LENGTH_MAX = 253
const PACKET_LENGTH_MAX = 4096
const AUTHENTICATOR_AT = 4

export interface Attribute {
  readonly type: number
  readonly value: Uint8Array
}

export interface Packet {
  readonly code: number
  readonly identifier: number
  readonly authenticator: Uint8Array
  readonly attributes: readonly Attribute[]
}

export interface ReceivedPacket extends Packet {
  /** The packet without any bytes behind it in its datagram. */
  readonly bytes: Uint8Array
  /** Positions of the attributes' values. */
  readonly places: readonly number[]
}

/** Encodes a packet. Names and passwords that are too long are refused earlier. */
export function encodePacket({ code, identifier, authenticator, attributes }: Packet): Buffer {
  const parts = attributes.map(({ type, value }) => {
    if (value.length > VALUE_LENGTH_MAX) throw new Error(`attribute ${type} is too long`)
    return Buffer.concat([Uint8Array.of(type, value.length + 2), value])
  })
  const length = HEADER_LENGTH + parts.reduce((sum, part) => sum + part.length, 0)
  if (length > PACKET_LENGTH_MAX) throw new Error('the packet is too long')
  return Buffer.concat([Uint8Array.of(code, identifier, length >> 8, length & 255), authenticator, ...parts], length)
}

/** Returns undefined when it is no packet. Bytes behind the packet's own length are padding. */
export function decodePacket(datagram: Uint8Array): ReceivedPacket | undefined {
  const [code = 0, identifier = 0, high = 0, low = 0] = datagram
  const length = high * 256 + low
  if (length < HEADER_LENGTH || length > PACKET_LENGTH_MAX || length > datagram.length) return undefined
  const bytes = datagram.subarray(0, length)
  const found = attributesIn(bytes, HEADER_LENGTH)
  if (found === undefined) return undefined
  const authenticator = bytes.subarray(AUTHENTICATOR_AT, HEADER_LENGTH)
  return { code, identifier, authenticator, bytes, ...found }
}

function attributesIn(bytes: Uint8Array, start: number) {
  const attributes: Attribute[] = []
  const places: number[] = []
  for (let at = start; at < bytes.length;) {
    const [type = 0, length = 0] = bytes.subarray(at, at + 2)
    if (length < 2 || at + length > bytes.length) return undefined
    attributes.push({ type, value: bytes.subarray(at + 2, at + length) })
    places.push(at + 2)
    at += length
  }
  return { attributes, places }
}

export const valuesOf = (attributes: readonly Attribute[], type: number): readonly Uint8Array[] =>
  attributes.filter((attribute) => attribute.type === type).map(({ value }) => value)

const VENDOR_LENGTH = 4

export function vendorAttribute(vendor: number, type: number, value: Uint8Array): Attribute {
  const head = Buffer.alloc(VENDOR_LENGTH + 2)
  head.writeUInt32BE(vendor)
  head.set([type, value.length + 2], VENDOR_LENGTH)
  return { type: TYPE.vendorSpecific, value: Buffer.concat([head, value]) }
}

/** Returns the values in one vendor's attributes; those not in the form that RFC 2865 suggests are skipped. */
export function vendorValues(attributes: readonly Attribute[], vendor: number, type: number): readonly Uint8Array[] {
  return valuesOf(attributes, TYPE.vendorSpecific).flatMap((value) => {
    if (value.length < VENDOR_LENGTH || Buffer.from(value).readUInt32BE() !== vendor) return []
    return valuesOf(attributesIn(value, VENDOR_LENGTH)?.attributes ?? [], type)
  })
}
