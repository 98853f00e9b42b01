import type { MachineClock } from '../base/clock.ts'
import { addressText } from '../base/socket-address.ts'
import type { JoinRole } from '../cluster/join-token.ts'
import { pinOf } from '../cluster/node-certificate.ts'
import type { IssuedToken } from '../context/cluster.ts'
import { settled } from './authorities.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Members } from './members.ts'
import type { Waiting } from './patience.ts'
import { refuseWitness } from './witness-admission.ts'

export interface TokenIssueParts extends Waiting {
  readonly cluster: Pick<JoinedCluster, 'own' | 'isReachable' | 'tokens'>
  readonly members: Members
  /** PEM of the accepted authorities; the first is named by the token. */
  readonly ca: () => string
  readonly clock: MachineClock
}

/**
 * Issues a token for one newcomer.
 *
 * @throws {ApiError} if a witness cannot join.
 */
export async function issueToken(
  { cluster, members, ca, clock, wait }: TokenIssueParts,
  role: JoinRole,
  validFor_s: number,
): Promise<IssuedToken> {
  const { own, tokens } = cluster
  if (role === 'witness') refuseWitness(members)
  const areThere = () => members.voters().every(({ id }) => id === own.nodeId || cluster.isReachable(id))
  await settled(members, areThere, { clock, wait })
  const addresses = members.all().map((member) => addressText(member))
  const token = await tokens.create(
    { role, issuedBy: own.nodeId, validFor_ms: validFor_s * 1000 },
    pinOf(ca()),
    addresses,
  )
  const expiresAt = new Date(clock.now_ms() + validFor_s * 1000).toISOString()
  return { id: token.id, token: token.toText(), expiresAt }
}
