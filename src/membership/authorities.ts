import { Authority, type AuthorityRole } from '../cluster/authority.ts'
import { authoritiesOf, authorityName } from '../cluster/places.ts'
import type { ClusterKeys } from '../cluster/sealing.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { AuthorityPair, Members } from './members.ts'
import type { Waiting } from './patience.ts'

/**
 * The authorities that certify nodes. Every node can read their keys, so a node that was removed may have done so:
 * after each removal there are new ones. They come in three steps, none of which cuts anybody off, and each is taken
 * when every node has taken the one before: all accept certificates of both, then all present those of the new ones,
 * then nobody accepts those of the old ones any more.
 */

export type Authorities = Readonly<Record<AuthorityRole, Authority>>

/** A pair with its keys. */
export interface OpenedPair extends AuthorityPair {
  readonly authorities: Authorities
}

/** The authorities whose certificates are accepted, and those that issue. */
export interface Issuers {
  /** Number of the pair. */
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

/** As all nodes know it. */
export const pairOf = ({ peer, client }: Authorities, keyId: string, number: number): AuthorityPair => ({
  number,
  keyId,
  certificates: { peer: peer.certificate, client: client.certificate },
})

/** The newest whose certificates every node and the witness take. */
export function issuingPair(members: Known): AuthorityPair {
  const taken = Math.min(...members.voters().map(({ trusts }) => trusts))
  const known = members.authorities()
  const found = known.findLast(({ number }) => number <= taken) ?? known[0]
  if (found === undefined) throw new Error('the cluster has no authorities')
  return found
}

/** Authorities that have issued no certificate that a node presents. */
export function unusedPairs(members: Known): readonly AuthorityPair[] {
  const used = Math.min(...members.voters().map(({ certifiedBy }) => certifiedBy))
  return members.authorities().filter(({ number }) => number < used)
}

/** What ports take: the certificates of all, that of the issuer first, as it is shown along with what it has issued. */
export function takenFrom(pairs: readonly AuthorityPair[], issuer: number): Readonly<Record<AuthorityRole, string>> {
  const ordered = [...pairs.filter(({ number }) => number === issuer), ...pairs.filter((one) => one.number !== issuer)]
  const of = (role: AuthorityRole) => ordered.map(({ certificates }) => certificates[role]).join('')
  return { peer: of('peer'), client: of('client') }
}

/**
 * Stores authorities in etcd, sealed with the newest key of the cluster. If some are stored with that key already,
 * those stay: the node that put them there ended before it could announce them.
 *
 * @returns those that are stored.
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
    if (sealed === undefined) throw new Error(`the cluster has no ${role} authority of the key ${keyId}`)
    // Sound: only nodes can seal.
    return await Authority.from(JSON.parse(keys.open(name, sealed).toString()) as ReturnType<Authority['stored']>)
  }
  return { peer: await of('peer'), client: await of('client') }
}

/** As the members agree on them at this moment. */
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
 * Waits for the end of a change, because tokens name the authorities and become void with that. A node that is away
 * holds the change up, and is not waited for.
 */
export async function settled(members: Known, areThere: () => boolean, { clock, wait }: Waiting): Promise<void> {
  const until_ms = clock.monotonic_ms() + SETTLED_MS
  while (members.authorities().length > 1 && areThere() && clock.monotonic_ms() < until_ms) await wait(AGAIN_MS)
}

/** Takes away what no node shows a certificate of. */
export async function dropUnused(etcd: Pick<EtcdClient, 'delete'>, members: Members): Promise<void> {
  const unused = unusedPairs(members)
  if (unused.length === 0) return
  if (!(await members.dropAuthorities(() => unusedPairs(members)))) return
  // Left where this fails: a key that counts nowhere.
  for (const { keyId } of unused) await etcd.delete(authoritiesOf(keyId))
}
