import { useSignal } from '@preact/signals'
import type { Warning } from '../core/live.ts'
import { toldBy } from '../core/reviewed.ts'
import { t } from '../core/text.ts'

export interface Accepting {
  readonly isAccepted: boolean
  readonly accept: (isMeant: boolean) => void
}

/** What is ticked is meant for the warnings that are there: others are looked at anew. */
export function useAccepting(warnings: readonly Warning[]): Accepting {
  const accepted = useSignal<string | undefined>(undefined)
  const told = toldBy(warnings)
  return {
    isAccepted: accepted.value === told,
    accept: (isMeant) => (accepted.value = isMeant ? told : undefined),
  }
}

/** What an operator would want to be told; none of them holds up what is meant. */
export function Warnings({
  warnings,
  accepting: { isAccepted, accept },
}: {
  readonly warnings: readonly Warning[]
  readonly accepting: Accepting
}) {
  if (warnings.length === 0) return null
  return (
    <div class="problem block warn">
      <ul>
        {warnings.map(({ code, message }) => (
          <li key={`${code} ${message}`}>{message}</li>
        ))}
      </ul>
      <label class="inline">
        <input type="checkbox" checked={isAccepted} onChange={(event) => accept(event.currentTarget.checked)} />{' '}
        {t('I have read this')}
      </label>
    </div>
  )
}
