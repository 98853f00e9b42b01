import { Foreign, Refused, refusedWith } from './refused.ts'
import type { Answer, Reader } from './answer.ts'
import { pause } from './trying.ts'

/** Something that a stream tells. */
export interface StreamEvent {
  /** '' where the stream numbers nothing. */
  readonly id: string
  readonly event: string
  readonly data: unknown
}

/** Until the stream says how long to wait before it is opened again. */
const RETRY_MS = 2_000
/** The wait grows to this while nothing comes. */
const RETRY_MS_MAX = 15_000
/** A stream that goes on says so twice meanwhile. */
const SILENCE_MS_MAX = 40_000

export interface Following {
  /** Whether an error is thrown, and not tried over. */
  readonly isFinal?: (error: unknown) => boolean
  /** `live` with each piece that comes, `waiting` from each end to the next one. */
  readonly onState?: (state: 'live' | 'waiting') => void
}

/**
 * What a stream tells, without a gap where it numbers its events: when it breaks off it is opened again, behind the
 * last event. Ends when the signal is aborted; a refusal is thrown, or whatever else is final.
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

/** What another try would meet as well. */
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
    throw new Foreign('the answer is no stream of events')
  }
  return response.body.getReader()
}

interface Block {
  readonly event?: StreamEvent
  readonly retry_ms?: number
}

const BLOCK_END = /\r?\n\r?\n/
/** The part of a line end that may precede the cut. */
const CUT = 3

async function* blocksOf(reader: Reader): AsyncGenerator<Block, void> {
  const decoder = new TextDecoder()
  /** The pieces of the block that is under way. A block may have megabytes, and is scanned once. */
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

/** A connection that was cut without a word tells nothing for ever. */
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

/** Lines of one block with the same name make one value. */
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
