import { randomBytes } from 'node:crypto'
import { familyOf, parseIp } from '../base/ip-network.ts'
import { type Authenticity, authenticityOf, signedRequest } from './authenticity.ts'
import { type Asked, type Credentials, credentialsOf, MICROSOFT } from './credentials.ts'
import {
  type Attribute,
  AUTHENTICATOR_LENGTH,
  CODE,
  decodePacket,
  type ReceivedPacket,
  TYPE,
  VALUE_LENGTH_MAX,
  valuesOf,
  vendorValues,
} from './packet.ts'

const ADMINISTRATIVE = Uint8Array.of(0, 0, 0, 6)
const VIRTUAL = Uint8Array.of(0, 0, 0, 5)
const ANSWERS: ReadonlySet<number> = new Set([CODE.accessAccept, CODE.accessReject, CODE.accessChallenge])
const CHALLENGED = 'The server asks for more than a password (Access-Challenge), which is not supported'
const UNPROVEN = 'The server accepts, but does not prove that it knows the password (MS-CHAP2-Success)'

export interface Question extends Asked {
  /** This appliance's name in the request. */
  readonly nasIdentifier: string
}

/** The content of a genuine answer. */
export type Said =
  | { readonly outcome: 'accepted'; readonly attributes: readonly Attribute[] }
  | { readonly outcome: 'refused'; readonly why: string }

function ownAddress(address: string): Attribute {
  const bits = familyOf(address) === 4 ? 32 : 128
  const hex = (parseIp(address)?.value ?? 0n).toString(16).padStart(bits / 4, '0')
  return { type: bits === 32 ? TYPE.nasIpAddress : TYPE.nasIpv6Address, value: Buffer.from(hex, 'hex') }
}

/** Returns a server's text in a form that is safe to show. */
function quoted(values: readonly Uint8Array[]): string {
  const text = Buffer.concat(values)
    .toString()
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
  return text === '' ? '' : `: “${text.slice(0, VALUE_LENGTH_MAX)}”`
}

const MICROSOFT_ERRORS: Readonly<Record<string, string>> = {
  646: ': not allowed at this time',
  647: ': the account is disabled',
  648: ': the password has expired',
  649: ': the account may not dial in',
}

function rejection(attributes: readonly Attribute[]): string {
  const [error] = vendorValues(attributes, MICROSOFT.vendor, MICROSOFT.error)
  const code = error === undefined ? undefined : /E=(\d{3})/.exec(Buffer.from(error).toString('latin1'))?.[1]
  const reason = MICROSOFT_ERRORS[code ?? ''] ?? ''
  return `The server refuses the name or the password${reason}${quoted(valuesOf(attributes, TYPE.replyMessage))}`
}

/** One request, which is repeated byte for byte, and checks the answers. */
export class AccessRequest {
  readonly bytes: Buffer
  readonly #identifier: number
  readonly #authenticator = randomBytes(AUTHENTICATOR_LENGTH)
  readonly #secret: string
  readonly #credentials: Credentials

  /** `address`: the one from which this appliance sends. */
  constructor(question: Question, secret: string, address: string) {
    const [identifier = 0] = randomBytes(1)
    this.#identifier = identifier
    this.#secret = secret
    this.#credentials = credentialsOf(question, secret, this.#authenticator)
    const attributes = [
      { type: TYPE.userName, value: Buffer.from(question.name) },
      ...this.#credentials.attributes,
      { type: TYPE.nasIdentifier, value: Buffer.from(question.nasIdentifier) },
      ownAddress(address),
      { type: TYPE.serviceType, value: ADMINISTRATIVE },
      { type: TYPE.nasPortType, value: VIRTUAL },
    ]
    const packet = { code: CODE.accessRequest, identifier, authenticator: this.#authenticator, attributes }
    this.bytes = signedRequest(packet, secret)
  }

  /**
   * Returns undefined for a datagram that is no answer to this request at all. The content of a forged one is not read.
   */
  judge(datagram: Uint8Array): { readonly authenticity: Authenticity; readonly said: Said | undefined } | undefined {
    const answer = decodePacket(datagram)
    if (answer === undefined || answer.identifier !== this.#identifier || !ANSWERS.has(answer.code)) return undefined
    const authenticity = authenticityOf(answer, this.#authenticator, this.#secret)
    return { authenticity, said: authenticity === 'forged' ? undefined : this.#read(answer) }
  }

  #read({ code, attributes }: ReceivedPacket): Said {
    if (code === CODE.accessReject) return { outcome: 'refused', why: rejection(attributes) }
    if (code === CODE.accessChallenge) return { outcome: 'refused', why: CHALLENGED }
    return this.#credentials.isProven(attributes)
      ? { outcome: 'accepted', attributes }
      : { outcome: 'refused', why: UNPROVEN }
  }
}
