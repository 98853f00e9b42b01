/** The task of the ACME pool: one step with a CA, which may be slow. The task changes nothing on the machine. */
import type { AcmeStep, AcmeStepped } from '../src/model/acme.ts'
import { stepOf } from './acme/step.ts'

export function acmeStep(step: AcmeStep): Promise<AcmeStepped> {
  return stepOf(step)
}
