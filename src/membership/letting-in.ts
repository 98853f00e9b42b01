import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { StoredJoinToken } from '../cluster/join-token.ts'
import type { Application } from '../peers/joining/protocol.ts'
import { admit } from './admission.ts'
import { applicantOf, witnessOf } from './joining-refusals.ts'
import { admitWitness, type WitnessAdmission } from './witness-admission.ts'

export interface LettingIn extends Omit<WitnessAdmission, 'cluster'> {
  readonly store: SharedStore
}

/** Lets in whom the token is for: a node, or a witness. */
export const letIn = async (
  parts: LettingIn,
  cluster: Parameters<typeof admit>[0],
  ...[application, { role }, id]: [Application, Pick<StoredJoinToken, 'role'>, string]
): Promise<unknown> =>
  role === 'witness'
    ? await admitWitness({ ...parts, cluster }, witnessOf(application, id))
    : await admit(cluster, parts, applicantOf(application, id), parts.clock, parts.wait)
