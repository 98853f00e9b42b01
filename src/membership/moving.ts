import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { FORCED_NEW } from '../etcd/member.ts'
import { nameTaken } from './admission.ts'
import type { ClusterFiles, NodeCredentials } from './cluster-files.ts'
import { assertEtcdPorts } from './etcd-ground.ts'
import type { EtcdService } from './etcd-service.ts'
import { issuersIn } from './authorities.ts'
import { certifiedUntil, certify, requestsOf } from './foundation.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Members } from './members.ts'
import { clientUrl, isSamePlace, type NodeAddress, peerUrl } from './node-address.ts'
import { partnerIn } from './partner.ts'
import { patiently, type Waiting } from './patience.ts'

export interface MovingParts extends Waiting {
  readonly cluster: Pick<JoinedCluster, 'own' | 'etcd' | 'keys'>
  readonly members: Members
  readonly files: ClusterFiles
  readonly clock: MachineClock
}

/**
 * Changes the name or address of this node; undefined values stay. Returns whether the address has changed, so that the
 * daemon must restart.
 */
export async function changeNode(parts: MovingParts, name: string | undefined, place?: NodeAddress): Promise<boolean> {
  const { cluster, members } = parts
  const { own } = cluster
  if (members.get(own.nodeId) === undefined) throw new ApiError('NOT_FOUND', 'This node was removed from the cluster')
  const hasMoved = place !== undefined && !isSamePlace(place, own)
  if (hasMoved) {
    refuseNeighbour(members, own.nodeId, place)
    await refuseVoteless(cluster.etcd, members, own.nodeId)
    await assertEtcdPorts(place, own)
  }
  if (name !== undefined) await rename(members, own.nodeId, name)
  if (hasMoved) await move(parts, place)
  return hasMoved
}

/** Names are only for people. */
async function rename(members: Members, id: string, name: string): Promise<void> {
  await members.change(id, (member) => {
    const namesake = members.voters().find((other) => other.id !== id && isSameName(other.name, name))
    if (namesake !== undefined) throw nameTaken(namesake)
    return { ...member, name }
  })
}

const isSameName = (some: string, other: string) => some.toLowerCase() === other.toLowerCase()

/** @throws {ApiError} IN_USE when another node has this address. */
function refuseNeighbour(members: Members, id: string, place: NodeAddress): void {
  const neighbour = members.voters().find((other) => other.id !== id && isSamePlace(other, place))
  if (neighbour !== undefined) throw new ApiError('IN_USE', `${neighbour.name} has this address`)
}

/**
 * Of two nodes, one without a vote reads what it is told at the address of the other one only.
 *
 * @throws {ApiError} IN_USE while the other one is in maintenance, or has not come back since this one went on alone.
 */
async function refuseVoteless(etcd: MovingParts['cluster']['etcd'], members: Members, id: string): Promise<void> {
  const partner = partnerIn(members, id)
  if (partner === undefined) return
  const listed = await etcd.members.list()
  if (partner.maintenance === undefined && listed.some(({ name, isLearner }) => name === partner.id && !isLearner))
    return
  const why = `${partner.name} is away or in maintenance, and would not find this node`
  throw new ApiError('IN_USE', `${why}: wait until it votes (isVoter in GET /cluster), or remove it`)
}

/**
 * Changes this node's address: first certificates for both addresses, so that no node refuses it meanwhile, then its
 * own file, which counts at the next start. `settle` does the rest then, so a crash in between does no harm.
 */
async function move(parts: MovingParts, place: NodeAddress): Promise<void> {
  await putInPlace(parts, await certifyAnew(parts, place))
  // Other fields may have changed since this daemon started.
  await parts.files.change(place)
}

export interface Renewed {
  readonly certified: Awaited<ReturnType<typeof certify>>
  readonly certifiedBy: number
}

/** Issues new certificates for the existing keys of this node, valid at both its addresses. See `putInPlace`. */
export async function certifyAnew(
  { cluster, members, files, clock, wait }: MovingParts,
  place: NodeAddress,
): Promise<Renewed> {
  const { own, etcd, keys } = cluster
  const { nodeId } = own
  const issuers = await patiently({ clock, wait }, () => issuersIn(etcd, keys, members))
  const requests = await requestsOf(files.certificates())
  const certified = await certify(issuers, requests, { nodeId, ...place }, clock.now_ms(), own)
  const { serials, certificateEnd } = certifiedUntil(certified)
  // The serials are stored first, so that the certificates can be revoked before they are used.
  await members.change(nodeId, (member) => ({ ...member, certificateEnd, serials: [...member.serials, ...serials] }))
  return { certified, certifiedBy: issuers.issuer }
}

/**
 * Installs certificates. `show` is called before the others learn that this node presents them: when the last node has
 * done so, the old ones are no longer accepted.
 */
export async function putInPlace(
  { cluster, members, files }: MovingParts,
  { certified, certifiedBy }: Renewed,
  show: (credentials: NodeCredentials) => void = () => undefined,
): Promise<void> {
  await files.keepCertificates(certified)
  show(files.certificates().client)
  await members.change(cluster.own.nodeId, (member) => ({ ...member, certifiedBy }))
}

/** Starts the etcd member beside this node at the address in its file. */
export async function startAt(own: JoinedCluster['own'], files: ClusterFiles, service: EtcdService): Promise<void> {
  const isThere = files.hasArgument(`--advertise-client-urls=${clientUrl(own)}`)
  // After an interrupted takeover, the argument would make a cluster of this node alone once more.
  if (isThere && !files.hasArgument(FORCED_NEW)) return await service.start()
  await files.keepArguments(service.argumentsOf(own, { [own.nodeId]: [peerUrl(own)] }, 'existing'))
  // Not a restart, which waits for a quorum.
  await service.stop()
  await service.start()
}

/** Tells etcd and the other nodes this node's address, if they do not know it. */
export async function settle(
  { own, etcd }: Pick<JoinedCluster, 'own' | 'etcd'>,
  members: Members,
  listed: Awaited<ReturnType<JoinedCluster['etcd']['members']['list']>>,
): Promise<void> {
  const { nodeId, host, port } = own
  const self = listed.find(({ name }) => name === nodeId)
  if (self !== undefined && !self.peerUrls.includes(peerUrl(own))) await etcd.members.update(self.id, [peerUrl(own)])
  const known = members.get(nodeId)
  if (known !== undefined && (known.host !== host || known.port !== port))
    await members.change(nodeId, (member) => ({ ...member, host, port }))
}
