import { useLayoutEffect } from 'preact/hooks'
import { t } from './text.ts'

/** What a person has typed and not sent. Nobody loses it to a key, a link, the back button or a reload unasked. */

const forms = new Set<object>()

/** For as long as who calls it is shown; a key may come before the next frame. */
export function useUnsaved(isUnsaved: boolean): void {
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined
    const own = {}
    forms.add(own)
    return () => void forms.delete(own)
  }, [isUnsaved])
}

export const mayLeave = (): boolean =>
  forms.size === 0 || confirm(t('What you have typed is not saved, and is lost then. Leave it?'))

// The browser asks in its own words.
addEventListener('beforeunload', (event) => {
  if (forms.size > 0) event.preventDefault()
})
