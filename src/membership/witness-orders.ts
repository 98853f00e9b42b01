import type { AuthorityRole } from '../cluster/authority.ts'
import { type Issuers, takenFrom } from './authorities.ts'
import type { Revocation, TrustHere } from './cluster-files.ts'
import { type Certified, revocationOf } from './foundation.ts'
import type { Members, Voter } from './members.ts'
import type { NodeAddress } from './node-address.ts'

/** What nodes ask of the witness, which does what it is told: it can read nothing of the log by itself. */
export const WITNESS = '/witness'

/** A node as the witness knows it: by its key it finds out whether it was removed. */
export interface KnownNode extends NodeAddress {
  readonly id: string
  readonly pin: string
}

/** Whose certificates count. */
export interface TrustOrder {
  readonly revocation: Revocation
  readonly taken: Readonly<Record<AuthorityRole, string>>
}

/** All in one question; what is left out stays. */
export interface WitnessOrders {
  readonly nodes?: readonly KnownNode[]
  readonly trust?: TrustOrder
  /** Instead of the certificate that it has, for the same key. */
  readonly certified?: Certified
  /** Its member of etcd leads: this one shall. */
  readonly leader?: string
  /** Its member of etcd did not come up, and there is room for a new one at its place. */
  readonly isReplaced?: boolean
  /** It shall ask for another certificate. */
  readonly isRequested?: boolean
}

/** What it answers when that is done. */
export interface WitnessState {
  readonly version: string
  readonly nodes: readonly KnownNode[]
  readonly trust: Pick<TrustHere, 'serials' | 'authorities' | 'isInForce'>
  /** End of its certificate. */
  readonly notAfter_ms: number
  /** Its member of etcd follows a leader, or leads. */
  readonly hasLeader: boolean
  /** PKCS#10 in PEM, where it was asked for. */
  readonly request?: string
}

export const nodesFor = (members: Pick<Members, 'all'>): readonly KnownNode[] =>
  members.all().map(({ id, host, port, pin }) => ({ id, host, port, pin }))

export interface TrustParts {
  readonly members: Pick<Members, 'removed'>
  /** Position in the log, as the number of the lists. */
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
