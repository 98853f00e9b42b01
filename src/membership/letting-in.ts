import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { StoredJoinToken } from '../cluster/join-token.ts'
import type { Application } from '../peers/joining/protocol.ts'
import { admit, vetNode } from './admission.ts'
import { applicantOf, witnessOf } from './joining-refusals.ts'
import { admitWitness, vetWitness, type WitnessAdmission } from './witness-admission.ts'

export interface LettingIn extends Omit<WitnessAdmission, 'cluster'> {
  readonly store: SharedStore
}

/** Refuses a newcomer that could not be admitted at present, before the token is used; this also answers a dry run. */
export function vet(
  { members, store }: Pick<LettingIn, 'members' | 'store'>,
  ...[application, { role }, id]: [Application, Pick<StoredJoinToken, 'role'>, string]
): void {
  if (role === 'witness') vetWitness(members, witnessOf(application, id))
  else vetNode(members, store, applicantOf(application, id))
}

/** Admits a node or a witness, depending on the token. */
export const letIn = async (
  parts: LettingIn,
  cluster: Parameters<typeof admit>[0],
  ...[application, { role }, id]: [Application, Pick<StoredJoinToken, 'role'>, string]
): Promise<unknown> =>
  role === 'witness'
    ? await admitWitness({ ...parts, cluster }, witnessOf(application, id))
    : await admit(cluster, parts, applicantOf(application, id), parts.clock, parts.wait)
