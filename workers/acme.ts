/** The task of the pool for ACME: one step with a CA, which may take its time. It touches nothing of the machine. */
import type { AcmeStep, AcmeStepped } from '../src/model/acme.ts'
import { stepOf } from './acme/step.ts'

export function acmeStep(step: AcmeStep): Promise<AcmeStepped> {
  return stepOf(step)
}
