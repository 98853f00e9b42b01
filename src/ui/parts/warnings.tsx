import { useSignal } from '@preact/signals'
import type { Warning } from '../core/live.ts'
import { toldBy } from '../core/reviewed.ts'
import { t } from '../core/text.ts'

export interface Accepting {
  readonly isAccepted: boolean
  readonly accept: (isMeant: boolean) => void
}

/** The tick counts only for the warnings that were shown: others must be accepted anew. */
export function useAccepting(warnings: readonly Warning[]): Accepting {
  const accepted = useSignal<string | undefined>(undefined)
  const told = toldBy(warnings)
  return {
    isAccepted: accepted.value === told,
    accept: (isMeant) => (accepted.value = isMeant ? told : undefined),
  }
}

/** Warnings for the operator; after accepting them, the user can go on. */
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
