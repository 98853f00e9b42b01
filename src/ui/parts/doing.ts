import { type ReadonlySignal, useSignal } from '@preact/signals'
import { Away, type FieldError, Refused, textOf } from '../core/api.ts'
import { t } from '../core/text.ts'

/** The refusal that a form shows. */
export interface Refusal {
  readonly message: string
  readonly errors: readonly FieldError[]
}

export interface Doing {
  readonly isBusy: ReadonlySignal<boolean>
  readonly refusal: ReadonlySignal<Refusal | undefined>
  /** Sets `isBusy` until `work` is done, and shows its refusal. */
  readonly run: (work: () => Promise<unknown>) => Promise<void>
}

export const noAnswer = (): string => t('The daemon does not answer.')
const perhapsDone = () =>
  t('The daemon does not answer. The request may have been carried out: check before you try again.')
/** A read has no effect, so it cannot have been done. */
const whenAway = ({ mayBeDone }: Away) => (mayBeDone ? perhapsDone() : noAnswer())

/** Describes an error for the user. */
export const problemIn = (error: unknown, ofAway: (error: Away) => string = whenAway): string =>
  error instanceof Away ? ofAway(error) : textOf(error)

/** Runs a form's requests one at a time, and keeps the last refusal. */
export function useDoing(ofAway: (error: Away) => string = whenAway): Doing {
  const isBusy = useSignal(false)
  const refusal = useSignal<Refusal | undefined>(undefined)
  async function run(work: () => Promise<unknown>): Promise<void> {
    // Enter submits a form even if its button is disabled.
    if (isBusy.peek()) return
    isBusy.value = true
    refusal.value = undefined
    try {
      await work()
    } catch (error) {
      refusal.value = {
        message: problemIn(error, ofAway),
        errors: error instanceof Refused ? error.errors : [],
      }
    } finally {
      isBusy.value = false
    }
  }
  return { isBusy, refusal, run }
}
