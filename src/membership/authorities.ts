import { Authority, type AuthorityRole } from '../cluster/authority.ts'
import { authoritiesOf, authorityName } from '../cluster/places.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { AuthorityPair, Members } from './members.ts'
import type { Waiting } from './patience.ts'

/**
 * The authorities that certify nodes. Every node can read their keys, so a removed node may have done so: each removal
 * is followed by new ones. They are introduced in three steps, none of which cuts any node off. Each step begins when
 * every node has completed the one before: all accept certificates of both, then all present those of the new ones,
 * then none accepts those of the old ones.
 */

export type Authorities = Readonly<Record<AuthorityRole, Authority>>

/** A pair of authorities with their keys. */
export interface OpenedPair extends AuthorityPair {
  readonly authorities: Authorities
}

/** The authorities whose certificates are accepted, and the pair that issues. */
export interface Issuers {
  /** Number of the issuing pair. */
  readonly issuer: number
  readonly pairs: readonly OpenedPair[]
}

type Etcd = Pick<EtcdClient, 'range' | 'transact'>
type Known = Pick<Members, 'voters' | 'authorities'>

const ROLES = ['peer', 'client'] as const
const FIRST_PAIR = 1
const SETTLED_MS = 20_000
const AGAIN_MS = 250

export async function newAuthorities(clusterId: string, now_ms: number): Promise<Authorities> {
  const [peer, client] = [
    await Authority.create('peer', clusterId, now_ms),
    await Authority.create('client', clusterId, now_ms),
  ]
  return { peer, client }
}

/** Returns the public part of authorities, as all nodes store it. */
export const pairOf = ({ peer, client }: Authorities, keyId: string, number: number): AuthorityPair => ({
  number,
  keyId,
  certificates: { peer: peer.certificate, client: client.certificate },
})

/** Returns the newest pair whose certificates every node and the witness accept. */
export function issuingPair(members: Known): AuthorityPair {
  const taken = Math.min(...members.voters().map(({ trusts }) => trusts))
  const known = members.authorities()
  const found = known.findLast(({ number }) => number <= taken) ?? known[0]
  if (found === undefined) throw new Error('the cluster has no authorities')
  return found
}

/** Returns the pairs that have issued no certificate in use. */
export function unusedPairs(members: Known): readonly AuthorityPair[] {
  const used = Math.min(...members.voters().map(({ certifiedBy }) => certifiedBy))
  return members.authorities().filter(({ number }) => number < used)
}

/**
 * Returns the certificates that ports accept: the issuer's first, because it is presented along with the certificates
 * that it has issued.
 */
export function takenFrom(pairs: readonly AuthorityPair[], issuer: number): Readonly<Record<AuthorityRole, string>> {
  const ordered = [...pairs.filter(({ number }) => number === issuer), ...pairs.filter((one) => one.number !== issuer)]
  const of = (role: AuthorityRole) => ordered.map(({ certificates }) => certificates[role]).join('')
  return { peer: of('peer'), client: of('client') }
}

/**
 * Stores authorities in etcd, sealed with the newest cluster key. If some are stored with that key already,
 * those stay: the node that stored them ended before it could announce them.
 *
 * @returns the stored ones.
 */
export async function keepAuthorities(etcd: Etcd, keys: ClusterKeys, authorities: Authorities): Promise<Authorities> {
  const keyId = keys.newestKeyId
  for (const role of ROLES) {
    const name = authorityName(role, keyId)
    const value = keys.seal(name, Buffer.from(JSON.stringify(authorities[role].stored())))
    await etcd.transact({
      compare: [{ key: name, of: 'createRevision', is: '=', than: 0 }],
      success: [{ put: name, value }],
    })
  }
  return await authoritiesIn(etcd, keys, keyId)
}

export async function authoritiesIn(
  etcd: Pick<EtcdClient, 'range'>,
  keys: ClusterKeys,
  keyId: string,
): Promise<Authorities> {
  const of = async (role: AuthorityRole) => {
    const name = authorityName(role, keyId)
    const { kvs } = await etcd.range({ key: name })
    const sealed = kvs[0]?.value
    if (sealed === undefined) throw new Error(`the cluster has no ${role} authority with the key ${keyId}`)
    // Sound: only nodes can seal.
    return await Authority.from(JSON.parse(keys.open(name, sealed).toString()) as ReturnType<Authority['stored']>)
  }
  return { peer: await of('peer'), client: await of('client') }
}

/** Returns the issuers on which the members agree at present. */
export async function issuersIn(etcd: Pick<EtcdClient, 'range'>, keys: ClusterKeys, members: Known): Promise<Issuers> {
  const [issuer, known] = [issuingPair(members).number, members.authorities()]
  const pairs: OpenedPair[] = []
  for (const pair of known) pairs.push({ ...pair, authorities: await authoritiesIn(etcd, keys, pair.keyId) })
  return { issuer, pairs }
}

/** The authorities of a cluster that is being formed. */
export const firstIssuers = (
  authorities: Authorities,
  keyId: string,
): Issuers & { readonly pairs: readonly [OpenedPair] } => ({
  issuer: FIRST_PAIR,
  pairs: [{ ...pairOf(authorities, keyId, FIRST_PAIR), authorities }],
})

export const numbersOf = (pairs: readonly AuthorityPair[]): readonly number[] => pairs.map(({ number }) => number)

/**
 * Waits for the end of a change, because tokens name the authorities and would become void. A change that an absent
 * node delays is not waited for.
 */
export async function settled(members: Known, areThere: () => boolean, { clock, wait }: Waiting): Promise<void> {
  const until_ms = clock.monotonic_ms() + SETTLED_MS
  while (members.authorities().length > 1 && areThere() && clock.monotonic_ms() < until_ms) await wait(AGAIN_MS)
}

/** Removes authorities that have issued no certificate in use. */
export async function dropUnused(etcd: Pick<EtcdClient, 'delete'>, members: Members): Promise<void> {
  const unused = unusedPairs(members)
  if (unused.length === 0) return
  if (!(await members.dropAuthorities(() => unusedPairs(members)))) return
  // If this fails, an unused key remains in etcd.
  for (const { keyId } of unused) await etcd.delete(authoritiesOf(keyId))
}
