import { type ReadonlySignal, useSignal } from '@preact/signals'
import { Away, type FieldError, Refused, textOf } from '../core/api.ts'
import { t } from '../core/text.ts'

/** What a form shows of an answer that refuses. */
export interface Refusal {
  readonly message: string
  readonly errors: readonly FieldError[]
}

export interface Doing {
  readonly isBusy: ReadonlySignal<boolean>
  readonly refusal: ReadonlySignal<Refusal | undefined>
  /** Busy until it is done; what refuses it is shown. */
  readonly run: (work: () => Promise<unknown>) => Promise<void>
}

export const noAnswer = (): string => t('The daemon does not answer.')
const perhapsDone = () =>
  t('The daemon does not answer. The request may have been carried out: check before you try again.')
/** What only reads is not done twice. */
const whenAway = ({ mayBeDone }: Away) => (mayBeDone ? perhapsDone() : noAnswer())

/** What went wrong, for people. */
export const problemIn = (error: unknown, ofAway: (error: Away) => string = whenAway): string =>
  error instanceof Away ? ofAway(error) : textOf(error)

/** What a form sends: one thing at a time, and what became of it. */
export function useDoing(ofAway: (error: Away) => string = whenAway): Doing {
  const isBusy = useSignal(false)
  const refusal = useSignal<Refusal | undefined>(undefined)
  async function run(work: () => Promise<unknown>): Promise<void> {
    // Enter in a form counts whatever its button shows.
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
