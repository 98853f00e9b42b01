import type { PlanExecutor } from '../config/enactor.ts'
import type { UnitVerb } from '../drivers/host.ts'
import { ApiError } from '../base/errors.ts'
import { type MemberSide, memberArguments } from '../etcd/member.ts'
import type { ClusterFiles } from './cluster-files.ts'
import { clientUrl, hostInUrl, hostToListenAt, type NodeAddress, peerUrl } from './node-address.ts'

const UNIT_TIMEOUT_MS = 30_000

/** The etcd member that runs beside this daemon. */
export class EtcdService {
  readonly #executor: PlanExecutor
  readonly #files: ClusterFiles

  constructor(executor: PlanExecutor, files: ClusterFiles) {
    this.#executor = executor
    this.#files = files
  }

  /**
   * Returns the arguments of this node's member.
   *
   * @param members peer URLs of each member by node id, including this node.
   */
  argumentsOf(
    { nodeId, clusterId, ...address }: NodeAddress & { readonly nodeId: string; readonly clusterId: string },
    members: Readonly<Record<string, readonly string[]>>,
    state: 'new' | 'existing',
    { isForcedNew = false } = {},
  ): readonly string[] {
    return memberArguments({
      name: nodeId,
      dataFolder: this.#files.dataFolder,
      peer: this.#side('peer', address, peerUrl(address), address.port + 2),
      client: this.#side('client', address, clientUrl(address), address.port + 1),
      members,
      state,
      token: clusterId,
      isForcedNew,
    })
  }

  /** Returns the arguments of a witness's member: no other machine is a client of it. */
  witnessArgumentsOf(
    { nodeId, clusterId, ...address }: NodeAddress & { readonly nodeId: string; readonly clusterId: string },
    members: Readonly<Record<string, readonly string[]>>,
  ): readonly string[] {
    return memberArguments({
      name: nodeId,
      dataFolder: this.#files.dataFolder,
      peer: this.#side('peer', address, peerUrl(address), address.port + 2),
      client: { socket: this.#files.socket },
      members,
      state: 'existing',
      token: clusterId,
    })
  }

  #side(role: 'peer' | 'client', address: NodeAddress, advertised: string, port: number): MemberSide {
    return {
      listen: [`https://${hostInUrl(hostToListenAt(address))}:${port}`],
      advertise: [advertised],
      certificateFile: this.#files.path(role, 'certificate'),
      keyFile: this.#files.path(role, 'key'),
      caFile: this.#files.path(role, 'ca'),
      crlFile: this.#files.path(role, 'crl'),
    }
  }

  /**
   * Does not wait until the member has found a quorum, or has given up: the caller must see whether it answers.
   *
   * @throws {ApiError} NOT_SUPPORTED when there is no etcd, or it ends at once.
   */
  start(): Promise<void> {
    return this.#perform('start', 'Start the member of etcd')
  }

  stop(): Promise<void> {
    return this.#perform('stop', 'Stop the member of etcd')
  }

  /**
   * Waits until the member has found a quorum, for at most half a minute.
   *
   * @throws {ApiError} NOT_SUPPORTED when it has not, with its output.
   */
  restart(): Promise<void> {
    return this.#perform('restart', 'Restart the member of etcd')
  }

  async #perform(verb: UnitVerb, why: string): Promise<void> {
    const common = { undo: 'none', whenUnchanged: 'act', timeout_ms: UNIT_TIMEOUT_MS } as const
    const result = await this.#executor.execute([{ kind: 'unit', unit: 'etcd', verb, why, ...common }])
    if (!result.ok) throw new ApiError('NOT_SUPPORTED', `${why} failed: ${result.output}`)
  }
}
