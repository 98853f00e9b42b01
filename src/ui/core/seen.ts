import { signal } from '@preact/signals'

/** After a short look at another tab, a user finds the page up to date, including the last minute's lines. */
const UNSEEN_MS = 60_000

/** False for a page that was not visible for a while: it requests nothing that only a viewer needs. */
export const isSeen = signal(!document.hidden)

const windows = new BroadcastChannel('fulcrum-seen')
let leaving: ReturnType<typeof setTimeout> | undefined

function look(): void {
  clearTimeout(leaving)
  if (document.hidden) leaving = setTimeout(() => (isSeen.value = false), UNSEEN_MS)
  else {
    isSeen.value = true
    windows.postMessage('looked at')
  }
}

document.addEventListener('visibilitychange', look)
// Another page of this browser needs the connections: a browser opens six per daemon, and each stream occupies one.
windows.addEventListener('message', () => {
  if (document.hidden) isSeen.value = false
})
look()
