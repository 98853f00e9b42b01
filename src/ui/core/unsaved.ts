import { createContext } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'
import { t } from './text.ts'

/** Unsaved input. A key, a link, the back button or a reload must not discard it without a question. */

interface Kept {
  readonly scope: object | undefined
  readonly question: string
}
const forms = new Map<object, Kept>()

/** The dialog that contains the input: closing it does not discard input outside. */
export const Scope = createContext<object | undefined>(undefined)

const typed = () => t('Your changes are not saved. Discard them?')
export const shownOnce = (): string => t('This is shown only once. Close it?')

/**
 * Protects input while the calling component is shown. A layout effect, because a key may be pressed before the next
 * frame.
 */
export function useUnsaved(isUnsaved: boolean, question = typed(), scope = useContext(Scope)): void {
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined
    const own = {}
    forms.set(own, { scope, question })
    return () => void forms.delete(own)
  }, [isUnsaved, question])
}

/** `scope` is the dialog to leave; without it, everything. */
export function mayLeave(scope?: object): boolean {
  const lost = [...forms.values()].find((one) => scope === undefined || one.scope === scope)
  return lost === undefined || confirm(lost.question)
}

// The browser asks with its own text.
addEventListener('beforeunload', (event) => {
  if (forms.size > 0) event.preventDefault()
})
