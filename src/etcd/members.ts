import { type Fields, idOf, isSet, listOf, NOTHING, part, textOf, textsOf } from './fields.ts'
import type { CallOptions, Gateways } from './gateways.ts'

export interface Member {
  readonly id: string
  /** Empty until the member has started for the first time. */
  readonly name: string
  readonly peerUrls: readonly string[]
  /** Empty until the member has started for the first time. */
  readonly clientUrls: readonly string[]
  /** Whether the member follows without a vote. */
  readonly isLearner: boolean
}

export interface MemberListOptions extends CallOptions {
  /** Reads the state of the member that answers, which may be old; works without a leader too. */
  readonly isSerializable?: boolean
}

/**
 * The members of a cluster. Rejects with `EtcdError`. A change to a member that was just added or promoted may be
 * refused for some seconds ("unhealthy cluster"); an unknown member is `refused` with code 5.
 */
export class Members {
  readonly #gateways: Gateways

  constructor(gateways: Gateways) {
    this.#gateways = gateways
  }

  async list(options: MemberListOptions = {}): Promise<readonly Member[]> {
    const { isSerializable = false, ...callOptions } = options
    const fields = { linearizable: !isSerializable }
    const call = { path: 'cluster/member/list', fields, isLocal: isSerializable }
    return await this.#gateways.ask(call, (answer) => listOf(answer, 'members').map(memberOf), callOptions)
  }

  /** Adds a member that is started afterwards. etcd refuses a second learner. */
  async add(
    peerUrls: readonly string[],
    { isLearner = false, ...options }: CallOptions & { readonly isLearner?: boolean } = {},
  ): Promise<Member> {
    const call = { path: 'cluster/member/add', fields: { peerURLs: peerUrls, isLearner }, isWrite: true }
    return await this.#gateways.ask(call, (answer) => memberOf(part(answer, 'member')), options)
  }

  /** Gives a learner its vote; `refused` with code 9 until it has caught up with the leader. */
  async promote(id: string, options?: CallOptions): Promise<void> {
    await this.#change('promote', { ID: id }, options)
  }

  async remove(id: string, options?: CallOptions): Promise<void> {
    await this.#change('remove', { ID: id }, options)
  }

  /** Sets the URLs at which the other members reach this one. */
  async update(id: string, peerUrls: readonly string[], options?: CallOptions): Promise<void> {
    await this.#change('update', { ID: id, peerURLs: peerUrls }, options)
  }

  async #change(what: string, fields: Fields, options?: CallOptions): Promise<void> {
    await this.#gateways.ask({ path: `cluster/member/${what}`, fields, isWrite: true }, NOTHING, options)
  }
}

const memberOf = (fields: Fields): Member => ({
  id: idOf(fields, 'ID'),
  name: textOf(fields, 'name'),
  peerUrls: textsOf(fields, 'peerURLs'),
  clientUrls: textsOf(fields, 'clientURLs'),
  isLearner: isSet(fields, 'isLearner'),
})
