import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { bring, changesBy, type NodeRecords } from '../config/node-records.ts'
import type { AuthorityRole } from '../cluster/authority.ts'
import { readNodeCertificate } from '../cluster/node-certificate.ts'
import type { StoredClusterKey } from '../cluster/sealing.ts'
import { EtcdError } from '../etcd/errors.ts'
import type { Revocation } from './cluster-files.ts'
import { type Issuers, issuersIn, numbersOf } from './authorities.ts'
import { type Certified, certifiedUntil, certify, type Requests, revocationOf } from './foundation.ts'
import { makeRoom } from './first-start.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Member, Members } from './members.ts'
import { clientUrl, isSamePlace, type NodeAddress } from './node-address.ts'
import { patiently, type Waiting } from './patience.ts'

/** A machine that wants to join, and whose token was accepted. */
export interface Newcomer extends NodeAddress {
  readonly id: string
  readonly name: string
  readonly version: string
}

/** A newcomer that wants to be a node. */
export interface Applicant extends Newcomer {
  /** PEM. */
  readonly tokenKey: string
  /** Level of the entry kinds that it knows. */
  readonly level: number
  /** Whether it takes the place of a removed node, whose id it has. */
  readonly isReplacing: boolean
  /** Records that it brings along; undefined when it takes the place of another node. */
  readonly own: NodeRecords | undefined
  readonly requests: Requests
}

/** The answer to a node that joins; contains secrets. */
export interface Welcome {
  readonly clusterId: string
  readonly name: string
  readonly epoch: number
  readonly keys: readonly [StoredClusterKey, ...StoredClusterKey[]]
  readonly certified: Readonly<Record<AuthorityRole, Certified>>
  readonly revocation: Revocation
  /** Peer URLs of each etcd member, including the new one. */
  readonly members: Readonly<Record<string, readonly string[]>>
  /** Client URLs of the existing members. */
  readonly gateways: readonly string[]
}

/** The limit of the design: more nodes slow every change down without a benefit. */
const NODES_MAX = 5

/** Admits a node. Repeating it for the same node has the same effect, because the answer may be lost on its way. */
export async function admit(
  { own, etcd, keys, log }: Pick<JoinedCluster, 'own' | 'etcd' | 'keys' | 'log'>,
  { members, store }: { readonly members: Members; readonly store: SharedStore },
  applicant: Applicant,
  clock: MachineClock,
  wait: (ms: number) => Promise<unknown>,
): Promise<Welcome> {
  vetNode(members, store, applicant)
  refuseUnknown(members, applicant)
  const { id, name, host, port, version, tokenKey, requests } = applicant
  const now_ms = clock.now_ms()
  if (applicant.own !== undefined) await bring(store, applicant.own, applicant, new Date(now_ms).toISOString())
  const issuers = await inTime({ clock, wait }, () => issuersIn(etcd, keys, members))
  const certified = await certify(issuers, requests, { nodeId: id, host, port }, now_ms)
  const { pin, spki } = readNodeCertificate(certified.client.certificate)
  const before = members.get(id)
  const until = certifiedUntil(certified)
  const serials = [...(before?.serials ?? []), ...until.serials]
  const since = before?.since ?? new Date(now_ms).toISOString()
  const told = { id, name, host, port, pin, spki, ...until, serials, tokenKey, version, since }
  const member: Member = { ...told, certifiedBy: issuers.issuer, trusts: Math.max(...numbersOf(issuers.pairs)) }
  // The record comes first, so that the certificates can be revoked before they are used. If the last of the other
  // nodes was updated meanwhile, the newcomer's level may be too low now.
  const fits = () => isSameAs(members, issuers) && members.level <= applicant.level
  const isIn = await members.add(() => (fits() ? member : undefined))
  if (!isIn) throw changing()
  const gateways = members
    .all()
    .filter((one) => one.id !== id)
    .map(clientUrl)
  const known = await inTime({ clock, wait }, () => makeRoom(etcd, member))
  const { clusterId } = own
  const { epoch } = members
  const revocation = await revocationOf(issuers, members.removed(), log.position)
  // The current keys: a later key is sent to the members of that time, which include this node.
  const [first, ...rest] = keys.stored()
  const sealing = [unused(first), ...rest.map(unused)] as const
  return { clusterId, name: own.name, epoch, keys: sealing, certified, revocation, members: known, gateways }
}

/** Whether the authorities are unchanged; a joining node does not know new ones, and would wait for them in vain. */
export const isSameAs = (members: Members, { pairs }: Issuers) =>
  numbersOf(members.authorities()).join() === numbersOf(pairs).join()

/** Resets the count of seals, which each node keeps for itself. */
const unused = (key: StoredClusterKey): StoredClusterKey => ({ ...key, seals: 0 })

/** Refuses a newcomer that could not be admitted at present. Changes nothing. */
export function vetNode(members: Members, store: SharedStore, newcomer: Applicant): void {
  const { id, own } = newcomer
  if (members.removed().some(({ member, stage }) => member.id === id && stage !== 'done'))
    throw new ApiError('JOB_IN_PROGRESS', 'This node is being removed from the cluster; join again in a minute')
  if (members.witness?.id === id) throw new ApiError('ID_NOT_UNIQUE', 'The witness of the cluster has this id')
  refuseTaken(members, newcomer)
  if (members.othersThan(id).length >= NODES_MAX)
    throw new ApiError('LIMIT_REACHED', `A cluster has at most ${NODES_MAX} nodes; remove one first`)
  if (own !== undefined) changesBy(store, own, newcomer)
}

/** Refuses an unknown place. A node that only looks finds that out itself. */
function refuseUnknown(members: Members, { id, isReplacing }: Applicant): void {
  if (isReplacing && members.get(id) === undefined && members.replaceable().every((member) => member.id !== id))
    throw new ApiError('NOT_FOUND', `No node with the id ${id} was removed from the cluster`)
}

/** Refuses a name or an address that another voter has. */
export function refuseTaken(members: Pick<Members, 'voters'>, { id, name, ...place }: Newcomer): void {
  const others = members.voters().filter((voter) => voter.id !== id)
  const namesake = others.find((voter) => voter.name.toLowerCase() === name.toLowerCase())
  if (namesake !== undefined) throw nameTaken(namesake)
  const neighbour = others.find((voter) => isSamePlace(voter, place))
  if (neighbour !== undefined) throw new ApiError('IN_USE', `${neighbour.name} has this address`)
}

export const nameTaken = ({ id, name }: Pick<Newcomer, 'id' | 'name'>): ApiError =>
  new ApiError('NAME_NOT_UNIQUE', `Another node of the cluster has the name ${name} (${id}): choose another name`)

export const changing = (): ApiError =>
  new ApiError('JOB_IN_PROGRESS', 'The cluster is changing its certificates or its version; join again in a minute')

/**
 * Retries, because etcd refuses a second newcomer until the first has caught up, and any for some seconds after that.
 */
export async function inTime<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
  try {
    return await patiently(waiting, work)
  } catch (error) {
    if (!(error instanceof EtcdError)) throw error
    throw new ApiError('NO_QUORUM', `etcd does not accept the node yet: ${error.message}`)
  }
}
