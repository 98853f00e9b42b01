import { follow, type StreamState } from './api.ts'

/**
 * A browser opens six connections to a daemon, over all its windows, and each stream occupies one: a seventh request
 * would wait for ever. So windows share streams, and some connections are left for requests.
 */

/** Locks for streams other than that of events. */
const PLACES = ['fulcrum-place-1', 'fulcrum-place-2', 'fulcrum-place-3']
/** A free place is obtained in less than this. */
const PLACE_MS = 1_000

type End = () => void

interface Shared<T> {
  readonly name: string
  readonly open: (tell: (told: T) => void) => End
  readonly onTold: (told: T) => void
  /** Whether each window needs the beginning of the stream, so that it is reopened when a window joins. */
  readonly hasBeginning?: boolean
}

/** Shares a stream: one window opens it, and passes the data on to other windows that follow the same name. */
function share<T>({ name, open, onTold, hasBeginning = false }: Shared<T>): End {
  // Locks need TLS; without them each window would open the stream, and pass everything on to all others.
  if (!isSecureContext) return open(onTold)
  const windows = new BroadcastChannel(name)
  const end = new AbortController()
  const tell = (told: T) => {
    if (end.signal.aborted) return
    onTold(told)
    windows.postMessage({ told })
  }
  let leave: End | undefined
  windows.addEventListener('message', ({ data }: MessageEvent<{ readonly told: T } | 'comes'>) => {
    if (data !== 'comes') onTold(data.told)
    else if (leave !== undefined) {
      leave()
      leave = open(tell)
    }
  })
  const lead = () =>
    new Promise<void>((resolve) => {
      leave = open(tell)
      end.signal.addEventListener('abort', () => {
        leave?.()
        resolve()
      })
    })
  const inTurn = () => (end.signal.aborted ? undefined : lead())
  if (hasBeginning) windows.postMessage('comes')
  navigator.locks.request(name, { signal: end.signal }, inTurn).catch(() => undefined)
  return () => {
    end.abort()
    windows.close()
  }
}

/** Begins when one of a few places is free; calls `onCrowded` while there is none. */
export function inPlace(begin: () => End, onCrowded: () => void): End {
  if (!isSecureContext) return begin()
  const end = new AbortController()
  let isPlaced = false
  const take = () => {
    if (isPlaced || end.signal.aborted) return undefined
    isPlaced = true
    return new Promise<void>((resolve) => {
      const stop = begin()
      end.signal.addEventListener('abort', () => {
        stop()
        resolve()
      })
    })
  }
  for (const place of PLACES) navigator.locks.request(place, { signal: end.signal }, take).catch(() => undefined)
  const timer = setTimeout(() => {
    if (!isPlaced) onCrowded()
  }, PLACE_MS)
  return () => {
    clearTimeout(timer)
    end.abort()
  }
}

/** Reports kinds of events as they happen, until the returned function is called. */
export const followEvents = (whose: string, onEvent: (kind: string) => void): End =>
  share<string>({
    name: `fulcrum-events ${whose}`,
    open: (tell) => follow('/events', { onEvent: ({ event }) => tell(event) }),
    onTold: onEvent,
  })

/** `crowded`: other windows occupy every place. */
export type FiguresState = StreamState | 'crowded'

interface Figures {
  readonly whose: string
  readonly nodeId: string
  /** Ids of the objects; '' for all. */
  readonly ids: string
  readonly onFigures: (data: unknown, isWhole: boolean) => void
  readonly onState: (state: FiguresState) => void
  readonly onRefused: () => void
}

type Told = { readonly state: FiguresState } | { readonly data: unknown; readonly isWhole: boolean } | 'refused'

export const followFigures = ({ whose, nodeId, ids, onFigures, onState, onRefused }: Figures): End =>
  share<Told>({
    name: `fulcrum-figures ${whose} ${ids}`,
    hasBeginning: true,
    open: (tell) =>
      inPlace(
        () =>
          follow(`/${nodeId}/stats/stream`, {
            query: ids === '' ? {} : { ids },
            onEvent: ({ event, data }) => tell({ data, isWhole: event === 'figures' }),
            onState: (state) => tell({ state }),
            onRefused: () => tell('refused'),
          }),
        () => tell({ state: 'crowded' }),
      ),
    onTold(told) {
      if (told === 'refused') onRefused()
      else if ('state' in told) onState(told.state)
      else onFigures(told.data, told.isWhole)
    },
  })
