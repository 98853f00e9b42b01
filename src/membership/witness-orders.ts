import type { AuthorityRole } from '../cluster/authority.ts'
import { type Issuers, takenFrom } from './authorities.ts'
import type { Revocation, TrustHere } from './cluster-files.ts'
import { type Certified, revocationOf } from './foundation.ts'
import type { Members, Voter } from './members.ts'
import type { NodeAddress } from './node-address.ts'

/** Path of orders to the witness, which only obeys: it cannot read the log. */
export const WITNESS = '/witness'

/** A node as the witness knows it: by its key the witness finds out whether it was removed. */
export interface KnownNode extends NodeAddress {
  readonly id: string
  readonly pin: string
}

/** The accepted authorities and the revoked certificates. */
export interface TrustOrder {
  readonly revocation: Revocation
  readonly taken: Readonly<Record<AuthorityRole, string>>
}

/** Orders, all in one message; missing ones change nothing. */
export interface WitnessOrders {
  readonly nodes?: readonly KnownNode[]
  readonly trust?: TrustOrder
  /** A certificate to replace the current one, for the same key. */
  readonly certified?: Certified
  /** Id of the member that shall lead in place of the witness's. */
  readonly leader?: string
  /** Whether its etcd member did not come up, and room was made for a new one. */
  readonly isReplaced?: boolean
  /** Whether it shall request another certificate. */
  readonly isRequested?: boolean
}

/** Its answer when the orders are carried out. */
export interface WitnessState {
  readonly version: string
  readonly nodes: readonly KnownNode[]
  readonly trust: Pick<TrustHere, 'serials' | 'authorities' | 'isInForce'>
  /** End of its certificate. */
  readonly notAfter_ms: number
  /** Whether its etcd member follows a leader, or leads. */
  readonly hasLeader: boolean
  /** PKCS#10 in PEM, if requested. */
  readonly request?: string
}

export const nodesFor = (members: Pick<Members, 'all'>): readonly KnownNode[] =>
  members.all().map(({ id, host, port, pin }) => ({ id, host, port, pin }))

export interface TrustParts {
  readonly members: Pick<Members, 'removed'>
  /** Position in the log, which numbers the lists. */
  readonly position: number
}

export const trustFor = async (
  { members, position }: TrustParts,
  issuers: Issuers,
  { certifiedBy }: Pick<Voter, 'certifiedBy'>,
): Promise<TrustOrder> => ({
  revocation: await revocationOf(issuers, members.removed(), position),
  taken: takenFrom(issuers.pairs, certifiedBy),
})
