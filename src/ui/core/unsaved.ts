import { createContext } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'
import { t } from './text.ts'

/** What a person has typed and not sent. Nobody loses it to a key, a link, the back button or a reload unasked. */

interface Kept {
  readonly scope: object | undefined
  readonly question: string
}
const forms = new Map<object, Kept>()

/** The dialog that something is typed in: what is typed outside of it is not lost with it. */
export const Scope = createContext<object | undefined>(undefined)

const typed = () => t('Your changes are not saved. Discard them?')
export const shownOnce = (): string => t('This is shown only once. Close it?')

/** For as long as the calling component is shown; a key may come before the next frame. */
export function useUnsaved(isUnsaved: boolean, question = typed(), scope = useContext(Scope)): void {
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined
    const own = {}
    forms.set(own, { scope, question })
    return () => void forms.delete(own)
  }, [isUnsaved, question])
}

/** `scope`: what is left, where it is not everything. */
export function mayLeave(scope?: object): boolean {
  const lost = [...forms.values()].find((one) => scope === undefined || one.scope === scope)
  return lost === undefined || confirm(lost.question)
}

// The browser asks in its own words.
addEventListener('beforeunload', (event) => {
  if (forms.size > 0) event.preventDefault()
})
