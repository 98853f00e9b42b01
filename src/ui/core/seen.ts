import { signal } from '@preact/signals'

/** Somebody who looks at another tab for a moment finds everything as it would be, the last minute's lines included. */
const UNSEEN_MS = 60_000

/** False for a page that nobody has looked at for a while: it asks for nothing that only somebody who looks needs. */
export const isSeen = signal(true)

let leaving: ReturnType<typeof setTimeout> | undefined
document.addEventListener('visibilitychange', () => {
  clearTimeout(leaving)
  if (document.hidden) leaving = setTimeout(() => (isSeen.value = false), UNSEEN_MS)
  else isSeen.value = true
})
