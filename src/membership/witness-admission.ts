import type { MachineClock } from '../base/clock.ts'
import { ApiError, problemIn } from '../base/errors.ts'
import { WITNESS_LEVEL } from '../cluster/levels.ts'
import { readNodeCertificate } from '../cluster/node-certificate.ts'
import { changing, inTime, isSameAs, type Newcomer, refuseTaken } from './admission.ts'
import { issuersIn, numbersOf } from './authorities.ts'
import { makeRoom } from './first-start.ts'
import { certifiedUntilOf, certifyWitness, type Certified } from './foundation.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Members, Voter } from './members.ts'
import type { Waiting } from './patience.ts'
import { type KnownNode, nodesFor, type TrustOrder, trustFor } from './witness-orders.ts'

/** A machine that wants to be the witness. */
export interface WitnessApplicant extends Newcomer {
  /** PKCS#10 in PEM. */
  readonly request: string
}

/** The answer to a witness that joins; contains no secrets. */
export interface WitnessWelcome {
  readonly clusterId: string
  /** Name of the cluster, for people. */
  readonly name: string
  readonly certified: Certified
  readonly trust: TrustOrder
  readonly nodes: readonly KnownNode[]
  /** Peer URLs of each etcd member, including the new one. */
  readonly members: Readonly<Record<string, readonly string[]>>
}

export interface WitnessAdmission extends Waiting {
  readonly cluster: Pick<JoinedCluster, 'own' | 'etcd' | 'keys' | 'log'>
  readonly members: Members
  readonly clock: MachineClock
}

const NODES_MIN = 2

/**
 * Admits a witness. Repeating it for the same one has the same effect, because the answer may be lost on its way.
 *
 * @throws {ApiError}
 */
export async function admitWitness(
  { cluster, members, clock, wait }: WitnessAdmission,
  applicant: WitnessApplicant,
): Promise<WitnessWelcome> {
  const { own, etcd, keys, log } = cluster
  vetWitness(members, applicant)
  await inTime({ clock, wait }, () => refuseAbsence(etcd, members))
  const now_ms = clock.now_ms()
  const issuers = await inTime({ clock, wait }, () => issuersIn(etcd, keys, members))
  const certified = await certifyWitness(issuers, applicant.request, applicant, now_ms)
  const { pin } = readNodeCertificate(certified.certificate)
  const { serials, certificateEnd } = certifiedUntilOf([certified])
  const { id, name, host, port, version } = applicant
  const before = members.witness
  if (before !== undefined && before.pin !== pin)
    throw new ApiError('ID_NOT_UNIQUE', 'The cluster knows this witness with another key; remove it first')
  const known = { id, name, host, port, version, pin, serials: [...(before?.serials ?? []), ...serials] }
  const witness: Voter = {
    ...known,
    since: before?.since ?? new Date(now_ms).toISOString(),
    certificateEnd,
    certifiedBy: issuers.issuer,
    trusts: Math.max(...numbersOf(issuers.pairs)),
  }
  // The record comes first, so that the certificate can be revoked before it is used, and no node continues alone.
  const isIn = await members.addWitness(() => {
    refuseWitness(members, id)
    return isSameAs(members, issuers) ? witness : undefined
  })
  if (!isIn) throw changing()
  const listed = await inTime({ clock, wait }, () => makeRoom(etcd, witness))
  const trust = await trustFor({ members, position: log.position }, issuers, witness)
  const { clusterId } = own
  return { clusterId, name: own.name, certified, trust, nodes: nodesFor(members), members: listed }
}

/** Refuses a witness that could not be admitted at present. Changes nothing. */
export function vetWitness(members: Members, applicant: WitnessApplicant): void {
  refuseWitness(members, applicant.id)
  refuseTaken(members, applicant)
}

/**
 * @param id of the applicant; left out if it is not known yet.
 * @throws {ApiError} NOT_SUPPORTED, LIMIT_REACHED, INVALID_BODY.
 */
export function refuseWitness(members: Pick<Members, 'all' | 'level' | 'witness'>, id?: string): void {
  if (members.level < WITNESS_LEVEL)
    throw new ApiError('NOT_SUPPORTED', 'A witness cannot join until all nodes of the cluster have this version')
  const { witness } = members
  if (witness !== undefined && witness.id !== id)
    throw new ApiError(
      'LIMIT_REACHED',
      `The cluster already has a witness, ${witness.name}; remove it first (${witness.id})`,
    )
  if (members.all().length >= NODES_MIN) return
  const message = 'a witness is for clusters of two or more nodes: with a single node it could only do harm'
  throw new ApiError('INVALID_BODY', message, { errors: [problemIn('role', message)] })
}

/** Refuses a witness while a node has no vote: of three votes only one may be missing, and it would be that one. */
async function refuseAbsence(etcd: JoinedCluster['etcd'], members: Members): Promise<void> {
  const listed = await etcd.members.list()
  const isVoter = (nodeId: string) => listed.some(({ name, isLearner }) => name === nodeId && !isLearner)
  const absent = members.all().filter(({ id }) => !isVoter(id))
  if (absent.length === 0) return
  const names = absent.map(({ name }) => name).join(', ')
  throw new ApiError('NO_QUORUM', `${names} has no vote at the moment: wait for it, or remove it, and join again`)
}
