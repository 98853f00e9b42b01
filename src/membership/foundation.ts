import { historyOf } from '../../storage/config/cluster-rows.ts'
import { type AuthorityRole, newNodeRequest, requestFor, type Revoked } from '../cluster/authority.ts'
import { VERSION } from '../base/version.ts'
import { readNodeCertificate } from '../cluster/node-certificate.ts'
import { type Checkpoint, CHECKPOINT_EVERY, Checkpoints, digestOf } from '../cluster/checkpoint.ts'
import { LEVEL } from '../cluster/levels.ts'
import { LargeValues } from '../cluster/large-values.ts'
import { GUARD, markerOf } from '../cluster/places.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { type Issuers, keepAuthorities, numbersOf, type OpenedPair, takenFrom } from './authorities.ts'
import type { NodeCertificates, NodeCredentials, OwnMembership, Revocation } from './cluster-files.ts'
import type { Member, Removed } from './members.ts'
import { certifiedAddresses, type NodeAddress } from './node-address.ts'

/** The beginning of a cluster: the first node's certificates, and its store as the first checkpoint. */

/** Certificate requests in PEM, of which only the key counts. */
export type Requests = Readonly<Record<AuthorityRole, string>>

type Etcd = Pick<EtcdClient, 'range' | 'put' | 'transact' | 'delete'>

/** Creates a key and a request for each authority. */
export async function newRequests(): Promise<{ readonly keys: Requests; readonly requests: Requests }> {
  const [peer, client] = [await newNodeRequest(), await newNodeRequest()]
  return { keys: { peer: peer.key, client: client.key }, requests: { peer: peer.request, client: client.request } }
}

/** Returns the record of the node that forms a cluster, as all nodes will store it. */
export function memberOf(
  { nodeId: id, host, port }: OwnMembership,
  certified: Readonly<Record<AuthorityRole, Certified>>,
  more: Pick<Member, 'name' | 'tokenKey' | 'since' | 'certifiedBy' | 'trusts'>,
): Member {
  const { pin, spki } = readNodeCertificate(certified.client.certificate)
  return { id, host, port, pin, spki, ...certifiedUntil(certified), version: VERSION, level: LEVEL, ...more }
}

/** Returns the facts about certificates that all nodes store besides the pin. */
export function certifiedUntil(
  certified: Readonly<Record<AuthorityRole, Certified>>,
): Pick<Member, 'serials'> & { readonly certificateEnd: string } {
  return certifiedUntilOf([certified.client, certified.peer])
}

export function certifiedUntilOf(
  certified: readonly Pick<Certified, 'certificate'>[],
): Pick<Member, 'serials'> & { readonly certificateEnd: string } {
  const read = certified.map(({ certificate }) => readNodeCertificate(certificate))
  const certificateEnd = new Date(Math.min(...read.map(({ notAfter_ms }) => notAfter_ms))).toISOString()
  return { serials: read.map(({ serial }) => serial), certificateEnd }
}

/** Creates requests for the existing keys of a node. */
export async function requestsOf({ peer, client }: NodeCertificates): Promise<Requests> {
  return { peer: await requestFor(peer.key), client: await requestFor(client.key) }
}

export interface Certified {
  readonly certificate: string
  readonly ca: string
}

export async function certify(
  { issuer, pairs }: Issuers,
  requests: Requests,
  { nodeId, ...address }: NodeAddress & { readonly nodeId: string },
  now_ms: number,
  /** An additional address, while other nodes still know the node by it. */
  also: NodeAddress = address,
): Promise<Readonly<Record<AuthorityRole, Certified>>> {
  const addresses = [...new Set([...certifiedAddresses(address), ...certifiedAddresses(also)])]
  const { authorities } = pairWith(pairs, issuer)
  const taken = takenFrom(pairs, issuer)
  const of = async (role: AuthorityRole): Promise<Certified> => ({
    certificate: await authorities[role].issue(requests[role], { nodeId, addresses }, now_ms),
    ca: taken[role],
  })
  return { peer: await of('peer'), client: await of('client') }
}

/** Issues the certificate with which a witness votes: it gives no access to data. */
export async function certifyWitness(
  { issuer, pairs }: Issuers,
  request: string,
  { id: nodeId, ...address }: NodeAddress & { readonly id: string },
  now_ms: number,
): Promise<Certified> {
  const { peer } = pairWith(pairs, issuer).authorities
  const certificate = await peer.issue(request, { nodeId, addresses: certifiedAddresses(address) }, now_ms)
  return { certificate, ca: takenFrom(pairs, issuer).peer }
}

function pairWith(pairs: readonly OpenedPair[], number: number): OpenedPair {
  const found = pairs.find((pair) => pair.number === number)
  if (found === undefined) throw new Error(`the authorities ${number} are no longer valid`)
  return found
}

export function withKeys(certified: Readonly<Record<AuthorityRole, Certified>>, keys: Requests): NodeCertificates {
  const of = (role: AuthorityRole): NodeCredentials => ({ key: keys[role], ...certified[role] })
  return { peer: of('peer'), client: of('client') }
}

/**
 * Writes the first checkpoint and then the guard into an empty etcd: without the guard there is no cluster in it, so a
 * crash leaves none.
 */
export async function foundIn(
  etcd: Etcd,
  keys: ClusterKeys,
  { pairs }: Issuers,
  { state, position }: Pick<Checkpoint, 'state' | 'position'>,
): Promise<void> {
  for (const { authorities } of pairs) await keepAuthorities(etcd, keys, authorities)
  const checkpoints = new Checkpoints(etcd, new LargeValues(etcd, keys), CHECKPOINT_EVERY)
  await checkpoints.write({ position, digest: await digestOf(state), state })
  await etcd.put(GUARD, markerOf(historyOf(undefined), position))
}

/**
 * Returns the revocation of the removed nodes' certificates; `number` must be greater than that of every earlier list.
 */
export async function revocationOf(
  { issuer, pairs }: Issuers,
  removed: readonly Removed[],
  number: number,
): Promise<Revocation> {
  const revoked = revokedOf(removed)
  const { authorities } = pairWith(pairs, issuer)
  // etcd compares only serial numbers, regardless of who signed the list. OpenSSL needs a list of every authority that
  // it trusts.
  const of = (role: AuthorityRole) => authorities[role].revocationList(revoked, number)
  const clients = pairs.map((pair) => pair.authorities.client.revocationList(revoked, number))
  return {
    serials: revoked.map(({ serial }) => serial),
    authorities: numbersOf(pairs),
    lists: { peer: await of('peer'), client: await of('client') },
    ofClients: await Promise.all(clients),
  }
}

/** The certificates of an etcd member are revoked only when it has left etcd: before, it may be needed. */
export const revokedOf = (removed: readonly Removed[]): readonly Revoked[] =>
  removed
    .filter(({ stage }) => stage !== 'marked')
    .flatMap(({ member, at }) => member.serials.map((serial) => ({ serial, at_ms: Date.parse(at) })))
