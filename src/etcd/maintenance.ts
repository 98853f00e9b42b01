import type { IncomingMessage } from 'node:http'
import { EtcdError } from './errors.ts'
import {
  bytesOf,
  type Fields,
  headerRevision,
  idOf,
  isSet,
  listOf,
  NOTHING,
  numberOf,
  part,
  textOf,
  textsOf,
} from './fields.ts'
import { asEtcdError, streamed } from './gateway.ts'
import type { CallOptions, Gateways } from './gateways.ts'
import { linesOf } from './lines.ts'

/** Selects one member by its URL, which must be a gateway of the client. */
export interface AtMember extends CallOptions {
  readonly at: string
}

export interface MemberStatus {
  readonly memberId: string
  readonly version: string
  /** Size of the member's database file in bytes, and the bytes in use: defragmenting frees the rest. */
  readonly dbSize: number
  readonly dbSizeInUse: number
  /** '0' when the member knows none. */
  readonly leader: string
  readonly isLearner: boolean
  readonly revision: number
  readonly raftTerm: number
  readonly raftIndex: number
  readonly raftAppliedIndex: number
  /** The member's alarms and a missing leader, in etcd's words. */
  readonly errors: readonly string[]
}

export interface Alarm {
  readonly memberId: string
  readonly kind: 'NOSPACE' | 'CORRUPT'
}

export interface StoreHash {
  readonly hash: number
  /** Revision of the store. */
  readonly revision: number
  /** The revision from which on keys are in the hash. */
  readonly compactRevision: number
}

const SNAPSHOT_TIMEOUT_MS = 60_000
const SNAPSHOT_LINE_BYTES_MAX = 16 * 1024 * 1024

/** Calls to single members, with or without a leader, and to all. Rejects with `EtcdError`. */
export class Maintenance {
  readonly #gateways: Gateways

  constructor(gateways: Gateways) {
    this.#gateways = gateways
  }

  async status(options: AtMember): Promise<MemberStatus> {
    return await this.#gateways.ask({ path: 'maintenance/status', fields: {}, isLocal: true }, statusOf, options)
  }

  /**
   * Rewrites the member's database without the free space. Meanwhile the member does not answer, for some 0.2 s per 60
   * MB.
   */
  async defragment(options: AtMember): Promise<void> {
    const call = { path: 'maintenance/defragment', fields: {}, isWrite: true, isLocal: true }
    await this.#gateways.ask(call, NOTHING, options)
  }

  /** Returns the hash of all keys up to a revision, the newest one when it is absent. Equal on all members. */
  async hash({ revision = 0, ...options }: AtMember & { readonly revision?: number }): Promise<StoreHash> {
    const call = { path: 'maintenance/hashkv', fields: { revision }, isLocal: true }
    return await this.#gateways.ask(call, hashOf, options)
  }

  async alarms(options?: CallOptions): Promise<readonly Alarm[]> {
    const call = { path: 'maintenance/alarm', fields: { action: 'GET' } }
    return await this.#gateways.ask(call, (answer) => listOf(answer, 'alarms').flatMap(alarmOf), options)
  }

  /** Clears an alarm; etcd raises it again if its cause persists. */
  async disarm({ memberId, kind }: Alarm, options?: CallOptions): Promise<void> {
    const fields = { action: 'DEACTIVATE', memberID: memberId, alarm: kind }
    await this.#gateways.ask({ path: 'maintenance/alarm', fields, isWrite: true }, NOTHING, options)
  }

  /** Moves the leadership. Only the leader can, so each member is asked until one does. */
  async moveLeader(memberId: string, options?: CallOptions): Promise<void> {
    const call = { path: 'maintenance/transfer-leadership', fields: { targetID: memberId }, isWrite: true }
    await this.#gateways.ask(call, NOTHING, options)
  }

  /**
   * Reads the member's database in pieces, each after the one before was taken; the last 32 bytes are its SHA-256.
   * Returns the number of bytes. `timeout_ms` is for each piece.
   */
  async snapshot(take: (piece: Uint8Array) => Promise<void> | void, options: CallOptions = {}): Promise<number> {
    const { timeout_ms = SNAPSHOT_TIMEOUT_MS } = options
    const call = { path: 'maintenance/snapshot', fields: {}, isLocal: true }
    const response = await this.#gateways.open(call, async (begun) => begun, { ...options, timeout_ms })
    let bytes = 0
    for await (const piece of piecesOf(response, timeout_ms)) {
      bytes += piece.length
      await take(piece)
    }
    return bytes
  }
}

async function* piecesOf(response: IncomingMessage, timeout_ms: number): AsyncGenerator<Uint8Array, void> {
  const lines = linesOf(response, SNAPSHOT_LINE_BYTES_MAX)
  const tooLate = () => response.destroy(new EtcdError('timeout', 'it stopped sending its snapshot'))
  let left: number | undefined
  try {
    for (;;) {
      const late = setTimeout(tooLate, timeout_ms)
      const line = await lines.next().finally(() => clearTimeout(late))
      if (line.done === true) break
      const fields = streamed(line.value)
      left = numberOf(fields, 'remaining_bytes')
      yield bytesOf(fields, 'blob')
    }
  } catch (error) {
    throw asEtcdError(error)
  } finally {
    response.destroy()
  }
  if (left !== 0) throw new EtcdError('unreachable', 'it ended its snapshot early')
}

const statusOf = (fields: Fields): MemberStatus => ({
  memberId: idOf(part(fields, 'header'), 'member_id'),
  version: textOf(fields, 'version'),
  dbSize: numberOf(fields, 'dbSize'),
  dbSizeInUse: numberOf(fields, 'dbSizeInUse'),
  leader: idOf(fields, 'leader'),
  isLearner: isSet(fields, 'isLearner'),
  revision: headerRevision(fields),
  raftTerm: numberOf(fields, 'raftTerm'),
  raftIndex: numberOf(fields, 'raftIndex'),
  raftAppliedIndex: numberOf(fields, 'raftAppliedIndex'),
  errors: textsOf(fields, 'errors'),
})

const hashOf = (fields: Fields): StoreHash => ({
  hash: numberOf(fields, 'hash'),
  revision: headerRevision(fields),
  compactRevision: numberOf(fields, 'compact_revision'),
})

function alarmOf(fields: Fields): readonly Alarm[] {
  const kind = textOf(fields, 'alarm')
  return kind === 'NOSPACE' || kind === 'CORRUPT' ? [{ memberId: idOf(fields, 'memberID'), kind }] : []
}
