import { finished, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ListOfNodes, OfNodes } from '../api/endpoint.ts'
import { ApiError } from '../base/errors.ts'
import type { Stream, StreamSink } from '../context/rendered.ts'
import type { MissingNode } from '../model/of-nodes.ts'
import type { ForwardedAnswer } from '../peers/asking.ts'
import { PeerError } from '../peers/peer-error.ts'
import { type Answer, success } from './envelope.ts'
import { wholeEvents } from './streams.ts'

export interface Gathered {
  /** The id of this node. */
  readonly nodeId: string
  readonly own: Answer
  readonly others: readonly string[]
  /** Resolves with the head of a node's answer. */
  readonly ask: (nodeId: string, signal: AbortSignal) => Promise<ForwardedAnswer>
}

type Entry = Readonly<Record<string, unknown>>
type Part = { readonly nodeId: string; readonly entries: readonly Entry[]; readonly bytes: number } | MissingNode

const PATIENCE_MS = 2_000
/** A list of this size may have been cut at the limit of an answer (1 MiB, including fields that are not shown). */
const MAY_BE_CUT_BYTES = 512 * 1024

/** Refuses entry numbers in the query: each node counts its own entries. */
export function refuseNumbers(how: OfNodes, query: object, lastEventId: string): void {
  const sent = { ...query, ...(lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId }) }
  const numbers = how === 'stream' ? ['after', 'Last-Event-ID'] : (how.ofOne ?? [])
  const message = 'is a number of one node: name that node, or omit it'
  const errors = numbers
    .filter((name) => Object.hasOwn(sent, name))
    .map((field) => ({ field, code: 'NOT_ALLOWED', message }))
  if (errors.length === 0) return
  throw new ApiError('INVALID_QUERY', errors.map(({ field }) => `${field} ${message}`).join('; '), { errors })
}

/** Merges the lists of all nodes, newest first. */
export async function gatherLists(
  { nodeId, own, others, ask }: Gathered,
  { time, limit }: ListOfNodes,
  query: object,
): Promise<Answer> {
  const asking = others.map((id) => askList(id, ask))
  const parts: Part[] = [partOf(nodeId, Buffer.from(own.body)), ...(await Promise.all(asking))]
  const there = parts.filter((part) => 'entries' in part)
  const missing = parts.filter((part) => 'why' in part)
  const timeOf = (entry: Entry) => String(entry[time])
  // What a cut list lacks is unknown, so entries older than its end are dropped. A list without a limit is complete.
  const since = there
    .filter(({ bytes }) => limit !== undefined && bytes >= MAY_BE_CUT_BYTES)
    .map(({ entries }) => timeOf(entries.at(-1) ?? {}))
    .reduce((latest, one) => (one > latest ? one : latest), '')
  const all = there
    .flatMap((part) => part.entries.map((entry) => ({ nodeId: part.nodeId, ...entry })))
    .filter((entry) => timeOf(entry) >= since)
    // The sort is stable: entries of one node keep their order.
    .toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : timeOf(one) > timeOf(other) ? -1 : 0))
  const most = limit === undefined ? all.length : Number(Reflect.get(query, limit.parameter) ?? limit.usual)
  const { message } = JSON.parse(Buffer.from(own.body).toString())
  return success(own.status, message, all.slice(0, most), own.headers, {
    nodes: there.map((one) => one.nodeId),
    missing,
  })
}

function partOf(nodeId: string, body: Uint8Array): Part {
  return { nodeId, entries: JSON.parse(Buffer.from(body).toString()).data, bytes: body.length }
}

async function askList(nodeId: string, ask: Gathered['ask']): Promise<Part> {
  const signal = AbortSignal.timeout(PATIENCE_MS)
  try {
    const { status, body } = await ask(nodeId, signal)
    const whole = await buffer(body)
    if (status >= 400) return { nodeId, why: refusalIn(whole) }
    return partOf(nodeId, whole)
  } catch (error) {
    return { nodeId, why: whyOf(error, signal) }
  }
}

const refusalIn = (body: Uint8Array) => String(JSON.parse(Buffer.from(body).toString()).message)

function whyOf(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return `It did not answer within ${PATIENCE_MS / 1000} seconds`
  return error instanceof PeerError ? error.message : 'Its answer does not match this version'
}

/**
 * Returns the events of all nodes as they come, with the reporting node in `toldBy`; `nodeId` may be the node an event
 * is about. Event numbers are each node's own and are left out, because a client could not resume with them. A node
 * whose events are, or become, unavailable causes an event `missing`.
 */
export function gatherEvents({ nodeId, own, others, ask }: Gathered): Answer {
  const { stream: ofOwn } = own
  if (ofOwn === undefined) return own
  const stream: Stream = (sink) => {
    const leaving = new AbortController()
    const write = (text: string) => leaving.signal.aborted || sink.write(text)
    const stop = ofOwn({ ...told(nodeId, write), end: () => sink.end() })
    for (const id of others) void follow(id, ask, write, leaving.signal)
    return () => {
      leaving.abort()
      stop()
    }
  }
  return { ...own, stream }
}

async function follow(
  nodeId: string,
  ask: Gathered['ask'],
  write: (text: string) => unknown,
  leaving: AbortSignal,
): Promise<void> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), PATIENCE_MS)
  const missing = (why: string) => write(`event: missing\ndata: ${JSON.stringify({ nodeId, why })}\n\n`)
  try {
    const { status, body } = await ask(nodeId, AbortSignal.any([late.signal, leaving]))
    clearTimeout(timer)
    if (status >= 400) return void missing(refusalIn(await buffer(body)))
    pass(body, told(nodeId, write))
    finished(body, (error) => missing(error?.message ?? 'Its event stream has ended'))
  } catch (error) {
    clearTimeout(timer)
    missing(whyOf(error, late.signal))
  }
}

function pass(body: Readable, { write }: Pick<StreamSink, 'write'>): void {
  body.setEncoding('utf8')
  body.on('data', write)
}

const told = (nodeId: string, write: (text: string) => unknown): Pick<StreamSink, 'write'> => ({
  write: wholeEvents((events) => {
    for (const event of events) write(eventOf(nodeId, event))
  }),
})

const DATA = 'data: '

function eventOf(nodeId: string, event: string): string {
  const lines = event.split('\n').filter((line) => !line.startsWith('id: '))
  const dataOf = (line: string) => JSON.stringify({ toldBy: nodeId, ...JSON.parse(line.slice(DATA.length)) })
  return lines.map((line) => (line.startsWith(DATA) ? `${DATA}${dataOf(line)}` : line)).join('\n')
}
