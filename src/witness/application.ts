import { hostname } from 'node:os'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { addressText } from '../base/socket-address.ts'
import { newNodeRequest, requestFor } from '../cluster/authority.ts'
import { JoinToken, JoinTokenError } from '../cluster/join-token.ts'
import { assertGround, type EtcdGround } from '../membership/etcd-ground.ts'
import type { EtcdService } from '../membership/etcd-service.ts'
import type { NodeAddress } from '../membership/node-address.ts'
import type { WitnessWelcome } from '../membership/witness-admission.ts'
import { JoinClient } from '../peers/joining/join-client.ts'
import { JoinError, type JoinErrorCode, OF_THE_TOKEN } from '../peers/joining/join-error.ts'
import type { TokenFile } from './token-file.ts'
import type { Applying, OwnWitness, WitnessFiles } from './witness-files.ts'

export interface ApplicationParts {
  readonly files: WitnessFiles
  readonly token: TokenFile
  /** The address at which nodes reach the witness. */
  readonly peer: NodeAddress
  readonly etcdSays: EtcdGround['says']
  readonly service: Pick<EtcdService, 'witnessArgumentsOf'>
  readonly clock: MachineClock
  readonly log: Log
}

const AGAIN_MS = 5_000
/** Errors after which another try with the same token cannot succeed. */
const FINAL: ReadonlySet<JoinErrorCode> = new Set([...OF_THE_TOKEN, 'OTHER_PROTOCOL', 'INVALID_APPLICATION'])

/** Asks for admission as long as there is a token that may be valid. */
export class Application {
  readonly #parts: ApplicationParts
  #notBefore_ms = Number.NEGATIVE_INFINITY
  #told = ''

  constructor(parts: ApplicationParts) {
    this.#parts = parts
  }

  /** Returns the witness's record of its cluster once it is admitted; undefined before. */
  async look(): Promise<OwnWitness | undefined> {
    const { token, clock } = this.#parts
    const text = token.read()
    if (text === undefined || clock.monotonic_ms() < this.#notBefore_ms) return undefined
    try {
      return await this.#apply(JoinToken.parse(text))
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  async #apply(token: JoinToken): Promise<OwnWitness> {
    const { peer, etcdSays, files, clock } = this.#parts
    await assertGround({ says: etcdSays, listen: peer }, peer)
    const before = files.applying()
    const applying = before?.tokenId === token.id ? before : await this.#begin(token)
    const peerRequest = await requestFor(applying.key)
    const application = { name: hostname(), address: addressText(peer), peerRequest }
    const { nodeId: joinerId, key: shownKey } = applying
    const client = new JoinClient({ token, joinerId, application, shownKey, clock })
    // Sound: the member has proved to belong to the cluster, and all of this version answer the same.
    return await this.#enter(applying, (await client.join()).welcome as WitnessWelcome)
  }

  async #begin({ id: tokenId }: JoinToken): Promise<Applying> {
    const applying = { tokenId, nodeId: newId(), key: (await newNodeRequest()).key }
    await this.#parts.files.keepApplying(applying)
    return applying
  }

  async #enter(applying: Applying, { clusterId, name, certified, trust, nodes, members }: WitnessWelcome) {
    const { files, peer, service, log } = this.#parts
    const own: OwnWitness = { clusterId, name, nodeId: applying.nodeId, nodes, ...peer }
    await files.prepare(applying, certified, trust, service.witnessArgumentsOf(own, members))
    await files.commit(own)
    log.info('this is now the witness of a cluster', { clusterId, name })
    return own
  }

  #failed(error: unknown): void {
    const { token, clock, log } = this.#parts
    if (!(error instanceof JoinError || error instanceof JoinTokenError || error instanceof ApiError)) throw error
    this.#notBefore_ms = clock.monotonic_ms() + AGAIN_MS
    const isFinal = error instanceof JoinTokenError || (error instanceof JoinError && FINAL.has(error.code))
    if (isFinal) token.remove()
    // Logged once, however often it is tried.
    const told = `${error.code}: ${error.message}`
    if (told === this.#told && !isFinal) return
    this.#told = told
    const goesOn = isFinal ? 'the token is removed' : 'this is retried'
    log.error('the cluster does not accept this witness', { code: error.code, why: error.message, goesOn })
  }
}
