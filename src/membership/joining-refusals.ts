import { ApiError, problemIn } from '../base/errors.ts'
import { type NodeRecords, readNodeRecords, shownRecords } from '../config/node-records.ts'
import { FIRST_LEVEL } from '../cluster/levels.ts'
import { JoinToken, JoinTokenError } from '../cluster/join-token.ts'
import type { JoinPreview, NamedNode } from '../context/cluster.ts'
import { JoinError, type JoinErrorCode, OF_THE_TOKEN } from '../peers/joining/join-error.ts'
import type { Application, Seen } from '../peers/joining/protocol.ts'
import type { Applicant } from './admission.ts'
import type { WitnessApplicant } from './witness-admission.ts'
import { type NodeAddress, parseAddress } from './node-address.ts'

/** Refusals while joining, on either side, in the words of the API. */

/** Reads the application of a node whose token was accepted. */
export function applicantOf(application: Application, id: string): Applicant {
  const { name, version, level = FIRST_LEVEL, address, peerRequest: peer, clientRequest: client, records } = application
  const place = parseAddress(address, 0)
  const tokenKey: unknown = Reflect.get(Object(records), 'tokenKey')
  if (place === undefined || typeof tokenKey !== 'string' || client === undefined) {
    throw new ApiError('INVALID_BODY', 'The application lacks its address, or the key of its tokens')
  }
  const isReplacing = Reflect.get(Object(records), 'isReplacing') === true
  // A node that takes another one's place gets that one's records.
  const own = isReplacing ? undefined : readNodeRecords(Reflect.get(Object(records), 'own'), id)
  return { id, name, version, level, tokenKey, isReplacing, own, requests: { peer, client }, ...place }
}

/** Reads the application of a witness, of which only the address is stored. */
export function witnessOf({ name, version, address, peerRequest: request }: Application, id: string): WitnessApplicant {
  const place = parseAddress(address, 0)
  if (place === undefined) throw new ApiError('INVALID_BODY', 'The application lacks its address')
  return { id, name, version, request, ...place }
}

export function parsedToken(text: string): JoinToken {
  try {
    return JoinToken.parse(text)
  } catch (error) {
    if (!(error instanceof JoinTokenError)) throw error
    throw refusedField('token', error.code, `${error.message}; copy the whole token again`)
  }
}

export async function refusedInWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof JoinError)) throw error
    if (UNREACHED.has(error.code)) throw new ApiError('NODE_UNREACHABLE', error.message)
    throw refusedField(fieldOf(error.code), error.code, error.message)
  }
}

/** Returns the field at fault, or '' for problems such as a clock or a version. */
function fieldOf(code: JoinErrorCode): string {
  if (code === 'ADDRESS_UNREACHABLE' || code === 'INVALID_APPLICATION') return 'address'
  return OF_THE_TOKEN.has(code) ? 'token' : ''
}

const UNREACHED: ReadonlySet<string> = new Set(['UNREACHABLE', 'LOST', 'BUSY'])

const refusedField = (field: string, code: string, message: string) =>
  new ApiError('INVALID_BODY', message, { errors: [{ field, code, message }] })

/** @throws {ApiError} for an address that no node could have. */
export function readAddress(text: string, port: number): NodeAddress {
  const place = parseAddress(text, port)
  if (place === undefined) throw wrongAddress()
  return place
}

function wrongAddress(): ApiError {
  const message =
    'address must be HOST or HOST:PORT, with [HOST] for IPv6, and a port of at most 65532: the next three are used too'
  return new ApiError('INVALID_BODY', 'The address of this node cannot be used', {
    errors: [problemIn('address', message)],
  })
}

/** Returns the removed node whose place is to be taken. */
export function replaced(as: string, removed: Seen['removed'] = []): Seen['nodes'][number] {
  const found = removed.find(({ id }) => id === as)
  if (found !== undefined) return found
  const known = removed.map(({ id, name }) => `${id} (${name})`).join(', ')
  const message = `no node with this id was removed from the cluster; ${known === '' ? 'none was' : `the removed nodes are ${known}`}`
  throw new ApiError('INVALID_BODY', `as: ${message}`, { errors: [{ field: 'as', code: 'NOT_REMOVED', message }] })
}

/** Returns what people are shown of a look at a cluster. */
export function previewOf(
  { nodes, removed = [], clusterId, name, version, reachable, why }: Seen,
  own: NodeRecords | undefined,
): JoinPreview {
  const reached = { reachable, ...(why === undefined ? {} : { why }) }
  return {
    clusterId,
    name,
    version,
    nodes: nodes.map(named),
    removed: removed.map(named),
    brings: own === undefined ? [] : shownRecords(own),
    ...reached,
  }
}

/** Members of a later patch version may send more fields. */
const named = ({ id, name, address }: NamedNode): NamedNode => ({ id, name, address })
