import { follow } from './api.ts'

const NAME = 'fulcrum-events'

/**
 * Kinds of events as they happen, until what it answers is called. One window follows them and tells the others of this
 * browser, which opens six connections to a daemon and keeps one for each stream.
 */
export function followEvents(onEvent: (kind: string) => void): () => void {
  const windows = new BroadcastChannel(NAME)
  windows.addEventListener('message', ({ data }) => onEvent(String(data)))
  const end = new AbortController()
  const lead = () =>
    new Promise<void>((resolve) => {
      const stop = follow('/events', {
        onEvent({ event }) {
          onEvent(event)
          windows.postMessage(event)
        },
      })
      end.signal.addEventListener('abort', () => {
        stop()
        resolve()
      })
    })
  const inTurn = () => (end.signal.aborted ? undefined : lead())
  // Locks are for what came over TLS.
  if (isSecureContext) navigator.locks.request(NAME, { signal: end.signal }, inTurn).catch(() => undefined)
  else void lead()
  return () => {
    end.abort()
    windows.close()
  }
}
