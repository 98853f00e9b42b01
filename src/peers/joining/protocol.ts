import { type Static, Type } from 'typebox'
import { reader } from '../../base/validator.ts'
import { isCertificateId } from '../../cluster/node-certificate.ts'
import { MessageError } from './messages.ts'

/** The messages between a joining node and a member: one in each direction. */

/** Raised when the meaning of a message changes. */
export const PROTOCOL = 1
/** The protocol of a joiner at its own address while it asks, see `probe.ts`. */
export const PROBE_PROTOCOL = 'fulcrum-probe/1'

/** In bytes. */
export const ASKED_MAX = 256 * 1024
export const ANSWERED_MAX = 8 * 1024 * 1024

export const REFUSAL_LENGTH_MAX = 1024
const PEM_LENGTH_MAX = 4096
const NODES_MAX = 64

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })
const Version = Type.String({ pattern: String.raw`^\d+\.\d+\.`, maxLength: 64 })
const Time_ms = Type.Integer({ minimum: 0 })

/** `look` changes nothing, and leaves the token unused. */
const Intent = Type.Union([Type.Literal('look'), Type.Literal('join')])
export type Intent = Static<typeof Intent>

/** A node's description of itself. Fields that are not listed come from a later patch, and are ignored. */
const Application = Type.Object({
  version: Version,
  /** The level of entries that it knows, see `levels.ts` of the cluster; versions from before this field send none. */
  level: Type.Optional(Type.Integer({ minimum: 1 })),
  now_ms: Time_ms,
  name: text(255),
  /** HOST:PORT of its future peer port. */
  address: text(264),
  /** PKCS#10 in PEM, for the certificate of each authority. A witness needs only that for peers. */
  peerRequest: text(PEM_LENGTH_MAX),
  clientRequest: Type.Optional(text(PEM_LENGTH_MAX)),
  /** The records that it brings along, for the member that admits it. */
  records: Type.Optional(Type.Unknown()),
})
export type Application = Static<typeof Application>

/** Returns the request for the key that its peer port presents, and by which it is known. */
export const shownRequest = ({ clientRequest, peerRequest }: Pick<Application, 'clientRequest' | 'peerRequest'>) =>
  clientRequest ?? peerRequest

const Node = Type.Object({ id: text(64), name: text(255), address: text(264) })

/** The result of a look. */
const Seen = Type.Object({
  clusterId: text(64),
  name: text(255),
  version: Version,
  now_ms: Time_ms,
  nodes: Type.Array(Node, { maxItems: NODES_MAX }),
  /** Removed nodes, which a joining node may replace. The address of a lost one is not known. */
  removed: Type.Optional(Type.Array(Type.Object({ ...Node.properties, address: Type.String({ maxLength: 264 }) }))),
  /** Whether members can connect to the address of the application; `why` they cannot, as half a sentence. */
  reachable: Type.Boolean(),
  why: Type.Optional(text(255)),
})
export type Seen = Static<typeof Seen>

const Asked = Type.Object({
  tokenId: text(64),
  joinerId: text(64),
  intent: Intent,
  application: Type.Unknown(),
  /** In base64url. */
  proof: text(64),
})
export type Asked = Static<typeof Asked>

const Answered = Type.Union([
  Type.Object({ proof: text(64), welcome: Type.Unknown() }),
  Type.Object({ refusal: Type.Object({ code: text(64), message: text(REFUSAL_LENGTH_MAX) }) }),
])
export type Answered = Static<typeof Answered>

export const readApplication = reader(Application)
export const readSeen = reader(Seen)
export const readAnswered = reader(Answered)
const readAskedFields = reader(Asked)
const readProtocol = reader(Type.Object({ protocol: Type.Integer() }))

/** The protocol of the sender, and its request if that is this protocol. */
export type Opening = { readonly protocol: number; readonly asked?: Asked }

/** Reads the first message. @throws {MessageError} when it is none of any protocol. */
export function readOpening(message: unknown): Opening {
  const protocol = readProtocol(message)?.protocol
  if (protocol === undefined) throw new MessageError('it names no protocol')
  if (protocol !== PROTOCOL) return { protocol }
  const asked = readAskedFields(message)
  if (asked === undefined || !isCertificateId(asked.joinerId))
    throw new MessageError('a field of it is missing or wrong')
  return { protocol, asked }
}
