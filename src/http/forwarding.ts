import { finished, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Endpoint, OfNodes } from '../api/endpoint.ts'
import { JOBS_PATH } from '../api/reply.ts'
import type { Rights } from '../auth/permissions.ts'
import { ApiError, ERRORS } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Stream } from '../context/rendered.ts'
import type { ForwardedAnswer } from '../peers/asking.ts'
import { REQUEST_HEADERS } from '../peers/carried.ts'
import type { ForwardedRequest } from '../peers/peer-client.ts'
import { PeerError } from '../peers/peer-error.ts'
import { type Asked, type Authenticate, stillAllowed } from './admission.ts'
import { type AuditTrail, isAudited, noted, noteOf } from './audited.ts'
import { bytesMaxOf, refuseUnreadable, tooLarge } from './body.ts'
import { type Answer, BODILESS, isEventStream, JSON_TYPE } from './envelope.ts'
import { gatherEvents, gatherLists, refuseNumbers } from './gathering.ts'
import { HAS_BODY, type Incoming } from './incoming.ts'
import { answerRefusal } from './refusal.ts'
import { whileAllowed, wholeEvents } from './streams.ts'

/** The other nodes of the cluster. */
export interface OtherNodes {
  /** Returns whether another node has this id. */
  isMember(nodeId: string): boolean
  otherIds(): readonly string[]
  /** Resolves with the head of the node's answer. Rejects with `PeerError`. */
  forward(request: ForwardedRequest): Promise<ForwardedAnswer>
}

/** A request to all nodes. */
interface OfAll {
  readonly asked: Asked
  readonly rights: Rights | undefined
  /** The id of this node. */
  readonly nodeId: string
  readonly own: () => Answer | Promise<Answer>
}

export interface ForwardingParts {
  readonly nodes?: OtherNodes | undefined
  readonly audit: AuditTrail
  readonly authenticate: Authenticate
  readonly log: Log
}

/**
 * Answers up to this size are sent once they are complete, so that a lost node becomes a refusal. So are answers of any
 * size to requests with a body, after which the connection may have to end.
 */
const WHOLE_BYTES_MAX = 64 * 1024

/**
 * Forwards requests whose path names another node. This node identifies the caller and checks that a role grants the
 * endpoint; the other node checks that again, and everything else.
 */
export class Forwarding {
  readonly #parts: ForwardingParts

  constructor(parts: ForwardingParts) {
    this.#parts = parts
  }

  /** Reads the headers before it returns. Throws if the node does not exist. */
  forward(asked: Asked, rights: Rights | undefined, nodeId: string): Promise<Answer> {
    const { nodes } = this.#parts
    // A request is forwarded at most once.
    if (nodes === undefined || asked.incoming.carried !== undefined) throw noNode(nodeId)
    this.assertMember(nodeId)
    return this.#answer(nodes, asked, rights, nodeId)
  }

  /**
   * Combines the answers of all nodes, including this one. Reads the headers before it returns. Each node judges the
   * rights on its own; a node that refuses is listed as missing.
   */
  gather({ asked, rights, nodeId, own }: OfAll, how: OfNodes, query: object): Answer | Promise<Answer> {
    const { nodes } = this.#parts
    const { incoming } = asked
    if (incoming.carried !== undefined) throw noNode('all')
    refuseNumbers(how, query, incoming.header('last-event-id'))
    const headers = { 'x-fulcrum-sequence': incoming.header('x-fulcrum-sequence') }
    const request = requestFor(asked, rights, nodeId)
    const ask = async (id: string, signal: AbortSignal) => {
      if (nodes === undefined) throw noNode(id)
      const sent = new URLSearchParams(incoming.query)
      sent.set('node', id)
      return await nodes.forward({ ...request, nodeId: id, query: String(sent), headers, signal })
    }
    const others = nodes?.otherIds() ?? []
    const merge = (answer: Answer): Answer | Promise<Answer> => {
      if (answer.status >= 400 || request.method === 'HEAD') return answer
      const gathered = { nodeId, own: answer, others, ask }
      return how === 'stream' ? gatherEvents(gathered) : gatherLists(gathered, how, query)
    }
    const answer = own()
    return answer instanceof Promise ? answer.then(merge) : merge(answer)
  }

  assertMember(nodeId: string): void {
    if (this.#parts.nodes?.isMember(nodeId) !== true) throw noNode(nodeId)
  }

  /**
   * The other node's audit log records the deed, this node's the answer; both are on the disk before the client is
   * answered.
   */
  async #answer(nodes: OtherNodes, asked: Asked, rights: Rights | undefined, nodeId: string): Promise<Answer> {
    const started_ms = performance.now()
    const { audit, log } = this.#parts
    const note = { ...noteOf(asked), forwardedTo: nodeId }
    const { endpoint, actor, requestId, method, path, address } = note
    let answer: Answer
    try {
      if (isAudited(endpoint)) {
        audit.assertRoom(endpoint)
        audit.assertShare(note)
      }
      answer = await this.#ask(nodes, asked, requestFor(asked, rights, nodeId))
    } catch (error) {
      answer = answerRefusal(error, requestId, log)
    }
    if (HAS_BODY.has(method)) {
      const [duration_ms, { status }] = [Math.round(performance.now() - started_ms), answer]
      const told = { requestId, method, path, address, by: actor.email, forwardedTo: nodeId, status, duration_ms }
      log.info('request', told)
    }
    return isAudited(endpoint) ? noted(this.#parts, note, answer) : answer
  }

  async #ask(nodes: OtherNodes, asked: Asked, request: ForwardedRequest): Promise<Answer> {
    const { body, nodeId } = request
    // Headers cannot be read after the first await.
    const isAllowed = stillAllowed(asked, this.#parts.authenticate)
    try {
      return jobOf(nodeId, await received(await nodes.forward(request), asked, isAllowed))
    } catch (error) {
      if (body instanceof Readable && body.errored instanceof ApiError) throw body.errored
      throw error instanceof PeerError ? refusalOf(error, nodeId) : error
    }
  }
}

const noNode = (nodeId: string) => new ApiError('NOT_FOUND', `There is no node with id ${nodeId}`)

async function received(
  { status, headers, body }: ForwardedAnswer,
  { incoming, actor }: Asked,
  isAllowed: () => boolean,
): Promise<Answer> {
  const { 'content-type': contentType = JSON_TYPE, 'content-length': length, ...others } = headers
  const head = { status, contentType, headers: spelt(others) }
  const lasting = { ...head, body: '', relayed: body, holder: actor.userId }
  if (incoming.method === 'HEAD') {
    body.destroy()
    return lasting
  }
  if (isEventStream(contentType)) {
    return { ...lasting, stream: whileAllowed(streamOf(body), isAllowed, { comment: '' }) }
  }
  const isLong = !(Number(length) <= WHOLE_BYTES_MAX) && !HAS_BODY.has(incoming.method)
  if (!BODILESS.has(status) && isLong) return lasting
  const whole = await buffer(body)
  return status < 400 ? { ...head, body: whole } : { ...head, body: whole, code: codeIn(whole) }
}

/** Adds the node to the address of a job, because only the node that started the job knows it. */
function jobOf(nodeId: string, answer: Answer): Answer {
  const { Location: location = '' } = answer.headers
  if (!location.startsWith(JOBS_PATH)) return answer
  return { ...answer, headers: { ...answer.headers, Location: `${location}?node=${encodeURIComponent(nodeId)}` } }
}

/** Tokens stay on this node; the other node is told whose they are. */
function requestFor(asked: Asked, rights: Rights | undefined, nodeId: string): ForwardedRequest {
  const { route, incoming, actor, requestId } = asked
  const { method, path, query, address, signal } = incoming
  const endpoints = rights?.endpoints
  return {
    nodeId,
    method,
    path,
    query,
    headers: Object.fromEntries(REQUEST_HEADERS.map((name) => [name, incoming.header(name)])),
    requestId,
    who: { ...actor, ...(endpoints === undefined ? {} : { endpoints }), address },
    ...(HAS_BODY.has(method) ? { body: bodyOf(route.endpoint, incoming) } : {}),
    ...(signal === undefined ? {} : { signal }),
  }
}

/** Passes the body on as it arrives, and checks only its size. */
function bodyOf(endpoint: Endpoint, incoming: Incoming): Readable {
  refuseUnreadable(incoming)
  const bytes_max = bytesMaxOf(endpoint)
  if (Number(incoming.header('content-length')) > bytes_max) throw tooLarge(bytes_max)
  return incoming.streamBody?.(bytes_max) ?? Readable.from(wholeBody(incoming, bytes_max), { objectMode: false })
}

async function* wholeBody(incoming: Incoming, bytes_max: number): AsyncGenerator<Uint8Array> {
  const whole = await incoming.readBody(bytes_max)
  if (whole === undefined) throw tooLarge(bytes_max)
  yield whole
}

function refusalOf({ kind, message, facts }: PeerError, nodeId: string): ApiError {
  if (kind === 'busy') return new ApiError('TOO_MANY_AT_ONCE', message, { headers: { 'Retry-After': '1' } })
  // The node was a member a moment ago, or the request is one that nodes do not accept from each other.
  if (kind === 'refused') return new ApiError(facts.nodeId === undefined ? 'MALFORMED_REQUEST' : 'NOT_FOUND', message)
  const mayBeDone = kind !== 'unreachable'
  const told = mayBeDone ? message : `${message}; the request was not carried out`
  return new ApiError('NODE_UNREACHABLE', told, { data: { nodeId, mayBeDone } })
}

/** Header names that do not follow the usual capitalisation. */
const SPELLINGS: Readonly<Record<string, string>> = { etag: 'ETag', 'www-authenticate': 'WWW-Authenticate' }

function spelt(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const capital = (name: string) => name.replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [SPELLINGS[name] ?? capital(name), value]))
}

/** Returns the code of a refusal in the envelope. */
function codeIn(body: Uint8Array): string | undefined {
  const found = /"code":"([A-Z0-9_]+)"/.exec(Buffer.from(body).toString())?.[1]
  return found !== undefined && Object.hasOwn(ERRORS, found) ? found : undefined
}

function streamOf(body: Readable): Stream {
  return (sink) => {
    body.setEncoding('utf8')
    body.on(
      'data',
      wholeEvents((events) => sink.write(events.join(''))),
    )
    finished(body, () => sink.end())
    return () => body.destroy()
  }
}
