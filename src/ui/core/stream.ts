import { addressOf, isAway, isLocked, type Query, token } from './api.ts'

export interface StreamEvent {
  readonly event: string
  readonly data: unknown
}

/** `live`: events come; `waiting`: not yet, or not any more, and the stream is asked for again. */
export type StreamState = 'live' | 'waiting'

const RETRY_MS = { first: 1_000, most: 15_000 }
/** The daemon sends something at least this often. */
const SILENCE_MS = 30_000

interface Following {
  readonly query?: Query
  readonly onEvent: (event: StreamEvent) => void
  readonly onState?: (state: StreamState) => void
}

/**
 * Follows a stream of events until the function that it answers is called. An `EventSource` cannot send a token, so the
 * bytes are read here; what was missed is asked for with the id of the last event.
 */
export function follow(path: string, { query, onEvent, onState = () => undefined }: Following): () => void {
  const stop = new AbortController()
  let last = ''
  async function run(): Promise<void> {
    for (let wait_ms = RETRY_MS.first; !stop.signal.aborted;) {
      try {
        await readOnce(addressOf(path, query), last, stop.signal, (event) => {
          wait_ms = RETRY_MS.first
          onState('live')
          if (event.id !== '') last = event.id
          if (event.data !== undefined) onEvent({ event: event.event, data: event.data })
        })
      } catch {
        // Whatever broke it off, it is asked for again.
      }
      if (stop.signal.aborted) return
      onState('waiting')
      await pause(wait_ms, stop.signal)
      wait_ms = Math.min(wait_ms * 2, RETRY_MS.most)
    }
  }
  void run()
  return () => stop.abort()
}

interface Block {
  id: string
  event: string
  /** Absent in what only keeps the connection. */
  data: unknown
}

async function readOnce(
  address: string,
  last: string,
  stop: AbortSignal,
  onBlock: (block: Block) => void,
): Promise<void> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    const response = await fetch(address, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token.value ?? ''}`,
        ...(last === '' ? {} : { 'last-event-id': last }),
      },
      signal: AbortSignal.any([stop, silence.signal]),
    })
    isAway.value = false
    if (response.status === 401) isLocked.value = true
    if (!response.ok || response.body === null) return
    let text = ''
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      const blocks = (text + value).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) onBlock(blockIn(block))
    }
  } catch (error) {
    if (error instanceof TypeError) isAway.value = true
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function blockIn(text: string): Block {
  const block: Block = { id: '', event: 'message', data: undefined }
  for (const line of text.split('\n')) {
    const at = line.indexOf(':')
    const [name, value] = [line.slice(0, at), line.slice(at + 1).trimStart()]
    if (name === 'id' || name === 'event') block[name] = value
    else if (name === 'data') block.data = JSON.parse(value)
  }
  return block
}

const pause = (ms: number, stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    stop.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
