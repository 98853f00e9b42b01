import { Authority, type AuthorityRole, newNodeRequest, requestFor, type Revoked } from '../cluster/authority.ts'
import { VERSION } from '../base/version.ts'
import { readNodeCertificate } from '../cluster/node-certificate.ts'
import { type Checkpoint, CHECKPOINT_EVERY, Checkpoints, digestOf } from '../cluster/checkpoint.ts'
import { LargeValues } from '../cluster/large-values.ts'
import { authorityName, GUARD, markerOf } from '../cluster/places.ts'
import { type ClusterKeys, keyIdOf } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { NodeCertificates, NodeCredentials, OwnMembership, Revocation } from './cluster-files.ts'
import type { Member, Removed } from './members.ts'
import { certifiedAddresses, type NodeAddress } from './node-address.ts'

/** What a cluster begins with: authorities, the first node's certificates, and its store as the first checkpoint. */

export type Authorities = Readonly<Record<AuthorityRole, Authority>>
const ROLES = ['peer', 'client'] as const

export async function newAuthorities(clusterId: string, now_ms: number): Promise<Authorities> {
  const [peer, client] = [
    await Authority.create('peer', clusterId, now_ms),
    await Authority.create('client', clusterId, now_ms),
  ]
  return { peer, client }
}

/** Requests in PEM: of which only the key counts. */
export type Requests = Readonly<Record<AuthorityRole, string>>

type Etcd = Pick<EtcdClient, 'range' | 'put' | 'transact' | 'delete'>

/** A key and a request for each authority. */
export async function newRequests(): Promise<{ readonly keys: Requests; readonly requests: Requests }> {
  const [peer, client] = [await newNodeRequest(), await newNodeRequest()]
  return { keys: { peer: peer.key, client: client.key }, requests: { peer: peer.request, client: client.request } }
}

/** The node that forms a cluster, as all will keep it. */
export function memberOf(
  { nodeId: id, host, port }: OwnMembership,
  certified: Readonly<Record<AuthorityRole, Certified>>,
  more: Pick<Member, 'name' | 'tokenKey' | 'since'>,
): Member {
  const { pin, spki } = readNodeCertificate(certified.client.certificate)
  return { id, host, port, pin, spki, ...certifiedUntil(certified), version: VERSION, ...more }
}

/** What all nodes keep of certificates beside the pin. */
export function certifiedUntil(
  certified: Readonly<Record<AuthorityRole, Certified>>,
): Pick<Member, 'serials'> & { readonly certificateEnd: string } {
  const read = [certified.client, certified.peer].map(({ certificate }) => readNodeCertificate(certificate))
  const certificateEnd = new Date(Math.min(...read.map(({ notAfter_ms }) => notAfter_ms))).toISOString()
  return { serials: read.map(({ serial }) => serial), certificateEnd }
}

/** For the keys that a node has. */
export async function requestsOf({ peer, client }: NodeCertificates): Promise<Requests> {
  return { peer: await requestFor(peer.key), client: await requestFor(client.key) }
}

export interface Certified {
  readonly certificate: string
  readonly ca: string
}

export async function certify(
  authorities: Authorities,
  requests: Requests,
  { nodeId, ...address }: NodeAddress & { readonly nodeId: string },
  now_ms: number,
  /** Where it is reached as well, for as long as others know that address. */
  also: NodeAddress = address,
): Promise<Readonly<Record<AuthorityRole, Certified>>> {
  const addresses = [...new Set([...certifiedAddresses(address), ...certifiedAddresses(also)])]
  const of = async (role: AuthorityRole): Promise<Certified> => ({
    certificate: await authorities[role].issue(requests[role], { nodeId, addresses }, now_ms),
    ca: authorities[role].certificate,
  })
  return { peer: await of('peer'), client: await of('client') }
}

export function withKeys(certified: Readonly<Record<AuthorityRole, Certified>>, keys: Requests): NodeCertificates {
  const of = (role: AuthorityRole): NodeCredentials => ({ key: keys[role], ...certified[role] })
  return { peer: of('peer'), client: of('client') }
}

/**
 * Puts the first checkpoint and then the guard into an empty etcd: without the guard there is no cluster in it, so a
 * crash leaves none.
 */
export async function foundIn(
  etcd: Etcd,
  keys: ClusterKeys,
  authorities: Authorities,
  { state, position, epoch }: Pick<Checkpoint, 'state' | 'position'> & { readonly epoch: number },
): Promise<void> {
  for (const role of ROLES) {
    const name = authorityName(role)
    const stored = Buffer.from(JSON.stringify(authorities[role].stored()))
    await etcd.put(name, keys.seal(name, stored))
  }
  const checkpoints = new Checkpoints(etcd, new LargeValues(etcd, keys), CHECKPOINT_EVERY)
  await checkpoints.write({ position, digest: await digestOf(state), state })
  await etcd.put(GUARD, markerOf(epoch, position))
}

/** What no longer counts of the nodes that were removed, `number` being greater than that of each list before. */
export async function revocationOf(
  authorities: Authorities,
  removed: readonly Removed[],
  number: number,
  now_ms: number,
): Promise<Revocation> {
  const revoked = revokedOf(removed)
  const of = (role: AuthorityRole) => authorities[role].revocationList(revoked, number, now_ms)
  return { serials: revoked.map(({ serial }) => serial), lists: { peer: await of('peer'), client: await of('client') } }
}

/** A member of etcd keeps its certificates until it is none any more: before, it may be needed. */
export const revokedOf = (removed: readonly Removed[]): readonly Revoked[] =>
  removed
    .filter(({ stage }) => stage !== 'marked')
    .flatMap(({ member, at }) => member.serials.map((serial) => ({ serial, at_ms: Date.parse(at) })))

/** The authorities, sealed with the newest key. */
export async function sealAuthorities(etcd: Pick<EtcdClient, 'range' | 'transact'>, keys: ClusterKeys): Promise<void> {
  for (const role of ROLES) {
    const key = authorityName(role)
    const [found] = (await etcd.range({ key })).kvs
    if (found === undefined || keyIdOf(found.value) === keys.newestKeyId) continue
    await etcd.transact({
      compare: [{ key, of: 'modRevision', is: '=', than: found.modRevision }],
      success: [{ put: key, value: keys.seal(key, keys.open(key, found.value)) }],
    })
  }
}

/** As `foundIn` has kept them. */
export async function authoritiesIn(etcd: Pick<EtcdClient, 'range'>, keys: ClusterKeys): Promise<Authorities> {
  const of = async (role: AuthorityRole) => {
    const name = authorityName(role)
    const { kvs } = await etcd.range({ key: name })
    const sealed = kvs[0]?.value
    if (sealed === undefined) throw new Error(`the cluster has no ${role} authority`)
    // Sound: only nodes can seal.
    return await Authority.from(JSON.parse(keys.open(name, sealed).toString()) as ReturnType<Authority['stored']>)
  }
  return { peer: await of('peer'), client: await of('client') }
}
