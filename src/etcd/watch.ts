import type { IncomingMessage } from 'node:http'
import { EtcdError, lost, refusal } from './errors.ts'
import { type Fields, headerRevision, isSet, listOf, numberOf, part, textOf } from './fields.ts'
import { asEtcdError, streamed } from './gateway.ts'
import type { CallOptions, Gateways } from './gateways.ts'
import { linesOf } from './lines.ts'
import { type Span, spanFields } from './span.ts'
import { type KeyValue, keyValueOf } from './transaction.ts'

export interface WatchOptions extends CallOptions {
  /** The first revision to report; only new changes when absent. */
  readonly from?: number
}

export interface WatchEvent {
  readonly kind: 'put' | 'delete'
  /** A deleted key has only its name, and the revision that deleted it. */
  readonly kv: KeyValue
}

/**
 * `events` are those of whole revisions, in their order; `revision` is the last of them. `progress`: all events up to
 * that revision have been reported.
 */
export type WatchReport =
  | { readonly kind: 'events'; readonly revision: number; readonly events: readonly WatchEvent[] }
  | { readonly kind: 'progress'; readonly revision: number }

/** A fragment holds a request of etcd's largest size, 1.5 MiB, plus half a MiB; base64 and the names come on top. */
const LINE_BYTES_MAX = 16 * 1024 * 1024

/** Opens a watch; resolves when a member has begun it. */
export async function openWatch(gateways: Gateways, span: Span, options: WatchOptions): Promise<Watch> {
  const { from, ...callOptions } = options
  const create = {
    ...spanFields(span),
    ...(from === undefined ? {} : { start_revision: from }),
    progress_notify: true,
    // Otherwise a late watch gets its backlog in one piece of any size.
    fragment: true,
  }
  return await gateways.open(
    { path: 'watch', fields: { create_request: create } },
    async (response, address) => {
      const lines = linesOf(response, LINE_BYTES_MAX)
      const first = await lines.next()
      if (first.done === true) throw lost(false, 'it ended the watch immediately')
      const fields = streamed(first.value)
      if (isSet(fields, 'canceled')) throw cancellation(fields)
      return new Watch(response, lines, address, headerRevision(fields))
    },
    callOptions,
  )
}

/**
 * The changes that one member reports, for one iteration. The iteration ends when the watch is closed, and throws an
 * `EtcdError` for every other end: `compacted` when unreported events are gone, with the first revision that has
 * events; `no-leader` when the member is cut off; `unreachable` when its connection broke. A watch is never resumed:
 * the caller knows the last revision that it took. It does not read ahead of the caller beyond the connection's buffer.
 */
export class Watch implements AsyncIterable<WatchReport> {
  /** Address of the watched member, as shown in messages. */
  readonly address: string
  /** Revision of the store when the watch began. */
  readonly revision: number
  readonly #response: IncomingMessage
  readonly #lines: AsyncGenerator<string, void>
  #isClosed = false

  constructor(response: IncomingMessage, lines: AsyncGenerator<string, void>, address: string, revision: number) {
    this.#response = response
    this.#lines = lines
    this.address = address
    this.revision = revision
  }

  /** Closes the watch at once, even during a pending read. */
  close(): void {
    this.#isClosed = true
    this.#response.destroy()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WatchReport, void, undefined> {
    let held: readonly WatchEvent[] = []
    try {
      for (;;) {
        const line = await this.#next()
        if (line === undefined) return
        const fields = streamed(line)
        if (isSet(fields, 'canceled')) throw cancellation(fields)
        const { report, rest } = reportOf(fields, held)
        held = rest
        if (report !== undefined) yield report
        if (this.#isClosed) return
      }
    } catch (error) {
      if (!this.#isClosed) throw asEtcdError(error)
    } finally {
      this.close()
    }
  }

  /** Returns the next line; undefined when the watch was closed. */
  async #next(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next()
    if (this.#isClosed) return undefined
    if (done === true || value === undefined) throw lost(false, 'it ended the watch')
    return value
  }
}

/**
 * Makes a report. A fragment may end in the middle of a revision, whose events then wait for the rest: at most one
 * request's.
 */
function reportOf(
  fields: Fields,
  held: readonly WatchEvent[],
): { readonly report: WatchReport | undefined; readonly rest: readonly WatchEvent[] } {
  const events = [...held, ...listOf(fields, 'events').map(eventOf)]
  const last = events.at(-1)?.kv.modRevision
  if (last === undefined) return { report: { kind: 'progress', revision: headerRevision(fields) }, rest: [] }
  if (!isSet(fields, 'fragment')) return { report: { kind: 'events', revision: last, events }, rest: [] }
  const whole = events.filter(({ kv }) => kv.modRevision < last)
  const revision = whole.at(-1)?.kv.modRevision
  const rest = events.slice(whole.length)
  return { report: revision === undefined ? undefined : { kind: 'events', revision, events: whole }, rest }
}

const eventOf = (fields: Fields): WatchEvent => ({
  kind: textOf(fields, 'type') === 'DELETE' ? 'delete' : 'put',
  kv: keyValueOf(part(fields, 'kv')),
})

/** Returns the error for a watch that etcd ended, with its reason or only the revision up to which all is compacted. */
function cancellation(fields: Fields): EtcdError {
  const compactRevision = numberOf(fields, 'compact_revision')
  if (compactRevision > 0) {
    return new EtcdError('compacted', 'it has compacted the requested revision', { compactRevision })
  }
  const reason = textOf(fields, 'cancel_reason')
  // etcd sends no code here: nine is "not in this state".
  return reason === '' ? new EtcdError('refused', 'it ended the watch without a reason') : refusal(9, reason, false)
}
