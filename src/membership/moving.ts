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
import { patiently, type Waiting } from './patience.ts'

export interface MovingParts extends Waiting {
  readonly cluster: Pick<JoinedCluster, 'own' | 'etcd' | 'keys'>
  readonly members: Members
  readonly files: ClusterFiles
  readonly clock: MachineClock
}

/**
 * Another name or address of this node; what is undefined stays. Answers whether it has another address, by which the
 * daemon has to begin anew.
 */
export async function changeNode(parts: MovingParts, name: string | undefined, place?: NodeAddress): Promise<boolean> {
  const { cluster, members } = parts
  const { own } = cluster
  if (members.get(own.nodeId) === undefined) throw new ApiError('NOT_FOUND', 'This node was removed from the cluster')
  const hasMoved = place !== undefined && !isSamePlace(place, own)
  if (hasMoved) {
    refuseNeighbour(members, own.nodeId, place)
    await assertEtcdPorts(place, own)
  }
  if (name !== undefined) await rename(members, own.nodeId, name)
  if (hasMoved) await move(parts, place)
  return hasMoved
}

/** Nothing but people go by a name. */
async function rename(members: Members, id: string, name: string): Promise<void> {
  await members.change(id, (member) => {
    const namesake = members.voters().find((other) => other.id !== id && isSameName(other.name, name))
    if (namesake !== undefined) throw nameTaken(namesake)
    return { ...member, name }
  })
}

const isSameName = (some: string, other: string) => some.toLowerCase() === other.toLowerCase()

/** @throws {ApiError} IN_USE when another node is reached there. */
function refuseNeighbour(members: Members, id: string, place: NodeAddress): void {
  const neighbour = members.voters().find((other) => other.id !== id && isSamePlace(other, place))
  if (neighbour !== undefined) throw new ApiError('IN_USE', `${neighbour.name} is reached at this address`)
}

/**
 * Gives this node another address: first certificates for both, so that nobody refuses it meanwhile, then its own file,
 * which the next beginning goes by. `settle` does the rest then, so a crash between is no matter.
 */
async function move(parts: MovingParts, place: NodeAddress): Promise<void> {
  await putInPlace(parts, await certifyAnew(parts, place))
  // What else is in it may have changed since this daemon began.
  await parts.files.change(place)
}

export interface Renewed {
  readonly certified: Awaited<ReturnType<typeof certify>>
  readonly certifiedBy: number
}

/** New certificates for the keys that this node has, good at both its addresses. See `putInPlace`. */
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
  // Known to all before they count, so that they can be taken away again.
  await members.change(nodeId, (member) => ({ ...member, certificateEnd, serials: [...member.serials, ...serials] }))
  return { certified, certifiedBy: issuers.issuer }
}

/**
 * `show` is called before others learn that this node presents these: the last ones to wait for that stop accepting the
 * old ones.
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

/** Starts the member of etcd beside this node, where its file says that it listens. */
export async function startAt(own: JoinedCluster['own'], files: ClusterFiles, service: EtcdService): Promise<void> {
  const isThere = files.hasArgument(`--advertise-client-urls=${clientUrl(own)}`)
  // A takeover that was cut off: it would make a cluster of this node alone once more.
  if (isThere && !files.hasArgument(FORCED_NEW)) return await service.start()
  await files.keepArguments(service.argumentsOf(own, { [own.nodeId]: [peerUrl(own)] }, 'existing'))
  // Not a restart, which waits for a quorum.
  await service.stop()
  await service.start()
}

/** Tells etcd and the other nodes where this one is reached, if they do not know. */
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
