import type { Actor } from '../api/context.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { Reply, type Stream } from '../api/reply.ts'
import { ApiError } from '../errors.ts'
import { type Log, strangersLog } from '../log.ts'
import type { RecordChange } from '../model/sections.ts'
import { admitted, type Asked, type Authenticate, denied, mayAsk, NOBODY } from './admission.ts'
import { type AuditedRequest, type CameIn, type AuditTrail, isAudited, isNotedBefore, noteOf } from './audited.ts'
import { largeBodies, mayBeLarge, type ParseLarge, readBody } from './body.ts'
import { type Answer, replied } from './envelope.ts'
import { handledInPlace } from './handling.ts'
import { headersFor, type Incoming, keepHeaders, tokenOf } from './incoming.ts'
import { lasting } from './lasting.ts'
import { Places } from './places.ts'
import { rendered, wantedOf } from './prepared.ts'
import { refused } from './refused.ts'
import { KnownPaths, paramsOf } from './known-paths.ts'
import { matched, type Route, Router } from './router.ts'
import { whileAllowed } from './streams.ts'
import { parseQuery, Validation } from './validation.ts'

export const API_PREFIX = '/api/v1'
const HAS_BODY = new Set(['POST', 'PUT', 'DELETE'])

/** What a request context must offer the pipeline; implemented beside the composition root. */
export interface HandlerContext {
  /** Runs the handler; for staging effects inside one atomic edit. */
  run(handler: () => unknown): unknown
  /** Refuses a transaction that is not open, or that this endpoint has nothing to do with. */
  enter(transactionId: string): void
  /** Revision of the record that was read, for the ETag. */
  readonly revisionRead: number | undefined
  /** Who logged in by the request, if somebody did. */
  readonly cameIn: CameIn | undefined
  /** What the request changed of the candidate. */
  readonly changes: readonly RecordChange[]
}

export interface PipelineParts {
  readonly endpoints: readonly Endpoint[]
  readonly nodeId: string
  readonly log: Log
  readonly audit: AuditTrail
  readonly authenticate: Authenticate
  readonly parseLarge: ParseLarge
  createContext(endpoint: Endpoint, actor: Actor, request: RequestFacts): HandlerContext
}
export interface RequestFacts {
  readonly requestId: string
  /** Asked for only by who needs it: finding it out costs more than the rest of a small answer. */
  readonly client: { readonly address: string }
  readonly ifMatch: string | undefined
  readonly transactionId: string | undefined
}

interface Compiled {
  readonly body: Validation
  readonly query: Validation
  readonly places: Places | undefined
}

/** route → who → may → where → read → valid → handle → reply. Answers at once when nothing has to be waited for. */
export class Pipeline {
  readonly #parts: PipelineParts
  readonly #router: Router
  readonly #compiled: readonly Compiled[]
  readonly #largeBodies = largeBodies()
  #unanswered = 0
  readonly #known = new KnownPaths()
  readonly #strangers: Log

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#strangers = strangersLog(parts.log)
    this.#router = new Router(API_PREFIX, parts.endpoints)
    this.#compiled = parts.endpoints.map((endpoint) => ({
      body: new Validation(endpoint.body, endpoint.rules),
      query: new Validation(endpoint.query),
      places: endpoint.atOnce && new Places({ ...endpoint.atOnce, retryAfter_s: 2 }),
    }))
  }

  /** Whether every request that changes something was answered. */
  get isQuiet(): boolean {
    return this.#unanswered === 0
  }

  handle(incoming: Incoming, requestId: string): Answer | Promise<Answer> {
    let route: Route | undefined
    let actor = NOBODY
    try {
      const { method, path } = incoming
      const known = method === 'GET' ? this.#known.get(path) : undefined
      const match = known ?? matched(this.#router.find(method, path))
      route = match.route
      const who = admitted(route.endpoint, incoming, this.#parts.authenticate)
      actor = who.actor
      if (!mayAsk(route, who)) throw new ApiError('PERMISSION_DENIED', denied(route.endpoint))
      const params = known?.params ?? paramsOf(match, this.#parts.nodeId)
      const asked = { route, incoming, actor, params, requestId }
      if (HAS_BODY.has(method)) return this.#counted(this.#withBody(asked))
      if (known === undefined) this.#known.keep(path, { ...match, params })
      return route.endpoint.reveals ? this.#revealed(asked) : this.#answer(asked, this.#contextFor(asked))
    } catch (error) {
      return this.#turnedAway(route, incoming, actor, requestId, refused(error, requestId, this.#parts.log))
    }
  }

  /** Whoever was turned away, and every attempt to change something, leaves a line. */
  #turnedAway(
    route: Route | undefined,
    incoming: Incoming,
    actor: Actor,
    requestId: string,
    answer: Answer,
  ): Answer | Promise<Answer> {
    const { method, path, address } = incoming
    if (HAS_BODY.has(method) || answer.status === 401 || answer.status === 403) {
      const { status } = answer
      this.#logOf(actor).info('request', { requestId, method, path, address, by: actor.email, status })
    }
    if (route === undefined || actor === NOBODY || !isAudited(route.endpoint)) return answer
    return this.#noted(noteOf({ route, incoming, actor, requestId }), answer)
  }

  /** Nobody fills the log who did not log in. */
  #logOf(actor: Actor): Log {
    return actor === NOBODY ? this.#strangers : this.#parts.log
  }

  async #counted(work: Promise<Answer>): Promise<Answer> {
    this.#unanswered++
    try {
      return await work
    } finally {
      this.#unanswered--
    }
  }

  async #withBody(asked: Asked): Promise<Answer> {
    const started_ms = performance.now()
    const { route, incoming } = asked
    const note = noteOf(asked)
    const { endpoint, actor, requestId, method, path, address } = note
    let [body, context]: [unknown?, HandlerContext?] = []
    let answer: Answer
    let isBegun = false
    let free = () => undefined as unknown
    try {
      if (mayBeLarge(endpoint, incoming)) free = this.#largeBodies.take(actor.userId)
      // Headers are gone after the first await.
      const kept = { ...asked, incoming: keepHeaders(incoming, endpoint.headers) }
      body = await readBody(endpoint, incoming, this.#compiledOf(route.index).body, this.#parts.parseLarge)
      if (endpoint.effect === 'stage') this.#parts.audit.assertRoom(endpoint)
      if (isAudited(endpoint)) this.#parts.audit.assertShare({ ...note, body })
      if (isNotedBefore(endpoint)) {
        // What is refused anyway begins nothing.
        parseQuery(incoming.query, this.#compiledOf(route.index).query)
        isBegun = await this.#parts.audit.record({ ...note, body }, {})
      }
      context = this.#contextFor(kept)
      answer = await this.#answer(kept, context, body)
    } catch (error) {
      answer = refused(error, requestId, this.#parts.log)
    } finally {
      free()
    }
    const duration_ms = Math.round(performance.now() - started_ms)
    const { status } = answer
    this.#logOf(actor).info('request', { requestId, method, path, address, by: actor.email, status, duration_ms })
    return isAudited(endpoint)
      ? this.#noted({ ...note, body, isBegun, changes: context?.changes ?? [], cameIn: context?.cameIn }, answer)
      : answer
  }

  /** A secret is given out when it is on the disk who got it. */
  async #revealed(asked: Asked): Promise<Answer> {
    const note = noteOf(asked)
    const kept = { ...asked, incoming: keepHeaders(asked.incoming, note.endpoint.headers) }
    try {
      this.#parts.audit.assertShare(note)
      await this.#parts.audit.record(note, {})
      return await this.#noted(note, await this.#answer(kept, this.#contextFor(kept)))
    } catch (error) {
      return refused(error, asked.requestId, this.#parts.log)
    }
  }

  /** The answer, once it is on the disk what came of the request. */
  async #noted(request: AuditedRequest, answer: Answer): Promise<Answer> {
    try {
      await this.#parts.audit.record(request, { status: answer.status, code: answer.code })
    } catch (error) {
      // What was done is done: to say that it was not would be worse.
      this.#parts.log.error('an audit entry was lost', { requestId: request.requestId, reason: String(error) })
    }
    return answer
  }

  #contextFor({ route, incoming, actor, requestId }: Asked): HandlerContext {
    const { endpoint } = route
    const ifMatch = endpoint.method === 'GET' ? '' : incoming.header('if-match')
    const transactionId = endpoint.access === 'public' ? '' : incoming.header('x-transaction-id')
    const context = this.#parts.createContext(endpoint, actor, {
      requestId,
      client: incoming,
      ifMatch: ifMatch === '' ? undefined : ifMatch,
      transactionId: transactionId === '' ? undefined : transactionId,
    })
    if (transactionId !== '') context.enter(transactionId)
    return context
  }

  #answer(asked: Asked, context: HandlerContext, body?: unknown): Answer | Promise<Answer> {
    const { route, incoming, params, requestId } = asked
    const { endpoint } = route
    const compiled = this.#compiledOf(route.index)
    const query = parseQuery(incoming.query, compiled.query)
    const accept = endpoint.produces.length > 1 ? incoming.header('accept') : ''
    const request = { params, query, body, accept, headers: headersFor(endpoint, incoming) }
    const result = handledInPlace(endpoint, context, request, compiled.places, asked.actor.userId)
    const finish = (settled: unknown): Answer | Promise<Answer> => {
      if (!(settled instanceof Reply) || settled.rendered === undefined)
        return replied(endpoint, params, settled, context.revisionRead)
      const { stream } = settled.rendered
      const ready =
        stream === undefined ? settled.rendered : { ...settled.rendered, stream: this.#guarded(asked, stream) }
      return lasting(rendered(ready, wantedOf(incoming)), asked, this.#parts.log)
    }
    const answer = result instanceof Promise ? result.then(finish) : finish(result)
    return answer instanceof Promise
      ? answer.catch((error: unknown) => refused(error, requestId, this.#parts.log))
      : answer
  }

  /** A stream ends with the session, or the right, that it was opened with. */
  #guarded({ route, incoming }: Asked, stream: Stream): Stream {
    const token = tokenOf(incoming) ?? ''
    return whileAllowed(stream, () => {
      const who = this.#parts.authenticate(token)
      return !(who instanceof ApiError) && mayAsk(route, who)
    })
  }

  #compiledOf(index: number): Compiled {
    const compiled = this.#compiled[index]
    if (compiled === undefined) throw new Error('a route points outside the endpoint table')
    return compiled
  }
}
