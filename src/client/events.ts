import { Foreign, Refused, refusedWith } from './refused.ts'
import type { Answer, Reader } from './answer.ts'
import { pause } from './trying.ts'

/** An event of a stream. */
export interface StreamEvent {
  /** '' if the stream does not number its events. */
  readonly id: string
  readonly event: string
  readonly data: unknown
}

/** Wait before a stream is reopened, until the stream sets its own. */
const RETRY_MS = 2_000
/** The wait doubles up to this while nothing arrives. */
const RETRY_MS_MAX = 15_000
/** Maximum silence; an open stream sends something at least twice in this time. */
const SILENCE_MS_MAX = 40_000

export interface Following {
  /** Whether to throw an error instead of retrying. */
  readonly isFinal?: (error: unknown) => boolean
  /** Called with `live` for each block that arrives, and with `waiting` when the stream breaks off. */
  readonly onState?: (state: 'live' | 'waiting') => void
}

/**
 * Yields the events of a stream, without a gap if the stream numbers its events: a stream that breaks off is reopened
 * after the last event. Ends when the signal is aborted; throws refusals, or whatever `isFinal` selects.
 */
export async function* follow(
  open: (lastId: string | undefined, signal: AbortSignal) => Promise<Answer>,
  signal: AbortSignal,
  { isFinal = isRefused, onState = () => undefined }: Following = {},
): AsyncGenerator<StreamEvent, void> {
  let last: string | undefined
  let retry_ms = RETRY_MS
  let wait_ms = retry_ms
  while (!signal.aborted) {
    const attempt = new AbortController()
    const abort = () => attempt.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      for await (const block of blocksOf(await opened(open, last, attempt))) {
        if (block.retry_ms !== undefined) ({ retry_ms } = block)
        wait_ms = retry_ms
        onState('live')
        if (block.event === undefined) continue
        if (block.event.id !== '') last = block.event.id
        yield block.event
      }
    } catch (error) {
      if (!signal.aborted && isFinal(error)) throw error
    } finally {
      signal.removeEventListener('abort', abort)
      attempt.abort()
    }
    if (signal.aborted) return
    onState('waiting')
    await pause(wait_ms, signal).catch(() => undefined)
    wait_ms = Math.max(retry_ms, Math.min(wait_ms * 2, RETRY_MS_MAX))
  }
}

/** Returns whether another attempt would fail in the same way. */
export const isRefused = (error: unknown): boolean =>
  error instanceof Foreign ||
  (error instanceof Refused && error.status < 500 && error.status !== 429 && error.status !== 409)

async function opened(
  open: (lastId: string | undefined, signal: AbortSignal) => Promise<Answer>,
  last: string | undefined,
  attempt: AbortController,
): Promise<Reader> {
  const response = await open(last, attempt.signal)
  if (!response.ok) throw await refusedWith(response)
  if (response.body === null || response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    throw new Foreign('the answer is not an event stream')
  }
  return response.body.getReader()
}

interface Block {
  readonly event?: StreamEvent
  readonly retry_ms?: number
}

const BLOCK_END = /\r?\n\r?\n/
/** Maximum length of a partial block end before the boundary of two pieces. */
const CUT = 3

async function* blocksOf(reader: Reader): AsyncGenerator<Block, void> {
  const decoder = new TextDecoder()
  /** Pieces of the unfinished block. A block may have megabytes, so it is scanned once only. */
  let pieces: string[] = []
  let tail = ''
  for (;;) {
    const { value } = await unlessSilent(reader)
    if (value === undefined) return
    const piece = decoder.decode(value, { stream: true })
    const seam = `${tail}${piece}`
    tail = seam.slice(-CUT)
    pieces.push(piece)
    if (!BLOCK_END.test(seam)) continue
    const blocks = pieces.join('').split(BLOCK_END)
    pieces = [blocks.pop() ?? '']
    for (const block of blocks) yield blockIn(block)
  }
}

/** Rejects after a long silence: a connection that was cut without notice would stay silent for ever. */
async function unlessSilent(reader: Reader): ReturnType<Reader['read']> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the stream is silent')), SILENCE_MS_MAX)
  })
  try {
    return await Promise.race([reader.read(), silence])
  } finally {
    clearTimeout(timer)
  }
}

/** Data lines of a block are joined into one value. */
function blockIn(text: string): Block {
  const fields = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const at = line.indexOf(':')
    if (at <= 0) continue
    const [name, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')]
    fields.set(name, name === 'data' && fields.has(name) ? `${fields.get(name)}\n${value}` : value)
  }
  const [retry, data] = [Number(fields.get('retry') ?? NaN), fields.get('data')]
  return {
    ...(Number.isNaN(retry) ? {} : { retry_ms: retry }),
    ...(data === undefined
      ? {}
      : { event: { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data: parsed(data) } }),
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return data
  }
}
