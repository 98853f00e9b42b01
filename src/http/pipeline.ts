import type { Actor } from '../api/context.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import type { Rights } from '../auth/permissions.ts'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Answer, failure, replied } from './envelope.ts'
import { type Incoming, keepHeaders } from './incoming.ts'
import { reported } from './long-answers.ts'
import { rendered } from './prepared.ts'
import { decoded, type Match, matched, type Route, Router } from './router.ts'
import { parseQuery, parseSmall, validBody, Validation } from './validation.ts'

export const API_PREFIX = '/api/v1'
const BODY_BYTES_MAX = 1024 * 1024
/** Before anybody logged in: enough for a login, too little to fill the memory with. */
const PUBLIC_BODY_BYTES_MAX = 8 * 1024
/** Some hundred bytes each: longer paths are not remembered, whoever sends them. */
const KNOWN_PATHS_MAX = 4_096
const KNOWN_PATH_LENGTH = 256
const HAS_BODY = new Set(['POST', 'PUT', 'DELETE'])

/** What a request context must offer the pipeline; implemented beside the composition root. */
export interface HandlerContext {
  /** Runs the handler; for staging effects inside one atomic edit. */
  run(handler: () => unknown): unknown
  /** Refuses a transaction that is not open, or that this endpoint has nothing to do with. */
  enter(transactionId: string): void
  /** Revision of the record that was read, for the ETag. */
  readonly revisionRead: number | undefined
}

export interface PipelineParts {
  readonly endpoints: readonly Endpoint[]
  readonly nodeId: string
  readonly log: Log
  /** Who holds this token: rights, or the refusal. */
  authenticate(token: string): { readonly rights: Rights; readonly sessionId: string } | ApiError
  /** Parses a large body without holding up anybody; undefined when it is not JSON in UTF-8, or nested too deeply. */
  parseLarge(raw: Uint8Array): Promise<{ readonly value: unknown } | undefined>
  createContext(endpoint: Endpoint, actor: Actor, request: RequestFacts): HandlerContext
}
export interface RequestFacts {
  readonly requestId: string
  /** Asked for only by who needs it: finding it out costs more than the rest of a small answer. */
  readonly client: { readonly address: string }
  readonly ifMatch: string | undefined
  readonly transactionId: string | undefined
}

const NOBODY: Actor = { userId: '', email: '', sessionId: '' }

interface Compiled {
  readonly body: Validation
  readonly query: Validation
}

/** route → who → may → where → read → valid → handle → reply. Answers at once when nothing has to be waited for. */
export class Pipeline {
  readonly #parts: PipelineParts
  readonly #router: Router
  readonly #compiled: readonly Compiled[]
  /** Paths that were asked for, with what they lead to: pollers ask for the same few. */
  readonly #known = new Map<string, Match & { readonly params: Readonly<Record<string, string>> }>()

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#router = new Router(API_PREFIX, parts.endpoints)
    this.#compiled = parts.endpoints.map((endpoint) => ({
      body: new Validation(endpoint.body, endpoint.rules),
      query: new Validation(endpoint.query),
    }))
  }

  handle(incoming: Incoming, requestId: string): Answer | Promise<Answer> {
    try {
      const { method, path } = incoming
      const known = method === 'GET' ? this.#known.get(path) : undefined
      const match = known ?? matched(this.#router.find(method, path))
      const { route } = match
      const actor = this.#admit(route, incoming)
      const params = known?.params ?? this.#params(match)
      if (HAS_BODY.has(method)) return this.#withBody(route, incoming, actor, params, requestId)
      if (known === undefined) this.#keep(path, { ...match, params })
      return this.#answer(route, incoming, actor, params, requestId)
    } catch (error) {
      const answer = this.#refuse(error, requestId)
      // Whoever was turned away, and every attempt to change something, leaves a line.
      if (HAS_BODY.has(incoming.method) || answer.status === 401 || answer.status === 403) {
        const { method, path, address } = incoming
        this.#parts.log.info('request', { requestId, method, path, address, by: '', status: answer.status })
      }
      return answer
    }
  }

  #keep(path: string, match: Match & { readonly params: Readonly<Record<string, string>> }): void {
    if (path.length > KNOWN_PATH_LENGTH) return
    if (this.#known.size >= KNOWN_PATHS_MAX) this.#known.clear()
    this.#known.set(path, match)
  }

  /** Who calls, and whether a role grants it. */
  #admit(route: Route, incoming: Incoming): Actor {
    if (route.endpoint.access === 'public') return NOBODY
    const header = incoming.header('authorization')
    const token = header.startsWith('Bearer ') || /^bearer /i.test(header) ? header.slice('bearer '.length) : undefined
    if (token === undefined) {
      throw new ApiError('UNAUTHENTICATED', 'Send the header Authorization: Bearer with the token of POST /token')
    }
    const who = this.#parts.authenticate(token)
    if (who instanceof ApiError) throw who
    if (route.endpoint.access === 'granted' && who.rights.granted[route.index] !== 1) {
      const { method, path } = route.endpoint
      throw new ApiError('PERMISSION_DENIED', `None of your roles grants ${method} ${path}`)
    }
    return { userId: who.rights.userId, email: who.rights.email, sessionId: who.sessionId }
  }

  #params({ route, values }: Match): Readonly<Record<string, string>> {
    const params: Record<string, string> = {}
    for (let i = 0; i < values.length; i++) params[route.names[i] ?? ''] = decoded(values[i] ?? '')
    const node = params['applianceId'] ?? params['applianceID']
    if (node !== undefined && node !== this.#parts.nodeId) {
      throw new ApiError('NOT_FOUND', `There is no node with id ${node}`)
    }
    return params
  }

  async #withBody(
    route: Route,
    incoming: Incoming,
    actor: Actor,
    params: Readonly<Record<string, string>>,
    requestId: string,
  ): Promise<Answer> {
    const started_ms = performance.now()
    const facts = { method: incoming.method, path: incoming.path, address: incoming.address }
    let answer: Answer
    try {
      if (incoming.isAmbiguous)
        throw new ApiError('MALFORMED_REQUEST', 'The headers say more than once where the body ends')
      const contentType = incoming.header('content-type')
      // Headers are gone after the first await.
      const kept = keepHeaders(incoming)
      const small_max = route.endpoint.access === 'public' ? PUBLIC_BODY_BYTES_MAX : BODY_BYTES_MAX
      const bytes_max = route.endpoint.bodyBytes_max ?? small_max
      const raw = await incoming.readBody(bytes_max)
      if (raw === undefined) {
        throw new ApiError('PAYLOAD_TOO_LARGE', `The body may hold ${bytes_max} bytes at the most`)
      }
      if (raw.length > 0 && !/^application\/json\s*(;|$)/i.test(contentType)) {
        throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body with Content-Type: application/json')
      }
      const parsed = raw.length > BODY_BYTES_MAX ? await this.#parts.parseLarge(raw) : parseSmall(raw)
      const body = validBody(parsed, this.#compiledOf(route).body)
      answer = await this.#answer(route, kept, actor, params, requestId, body)
    } catch (error) {
      answer = this.#refuse(error, requestId)
    }
    const duration_ms = Math.round(performance.now() - started_ms)
    this.#parts.log.info('request', { requestId, ...facts, by: actor.email, status: answer.status, duration_ms })
    return answer
  }

  #answer(
    route: Route,
    incoming: Incoming,
    actor: Actor,
    params: Readonly<Record<string, string>>,
    requestId: string,
    body?: unknown,
  ): Answer | Promise<Answer> {
    const { endpoint } = route
    const query = parseQuery(incoming.query, this.#compiledOf(route).query)
    const isRead = endpoint.method === 'GET'
    const ifMatch = isRead ? '' : incoming.header('if-match')
    const transactionId = endpoint.access === 'public' ? '' : incoming.header('x-transaction-id')
    const context = this.#parts.createContext(endpoint, actor, {
      requestId,
      client: incoming,
      ifMatch: ifMatch === '' ? undefined : ifMatch,
      transactionId: transactionId === '' ? undefined : transactionId,
    })
    if (transactionId !== '') context.enter(transactionId)
    const accept = endpoint.produces.length > 1 ? incoming.header('accept') : ''
    const request = { params, query, body, accept }
    const handle = () => endpoint.handle(context as never, request as never)
    const result = endpoint.effect === 'read' ? handle() : context.run(handle)
    const finish = (settled: unknown): Answer | Promise<Answer> => {
      if (!(settled instanceof Reply) || settled.rendered === undefined)
        return replied(endpoint, params, settled, context.revisionRead)
      const wanted = {
        ifNoneMatch: incoming.header('if-none-match'),
        acceptEncoding: incoming.header('accept-encoding'),
      }
      return this.#watched(rendered(settled.rendered, wanted), requestId)
    }
    const answer = result instanceof Promise ? result.then(finish) : finish(result)
    return answer instanceof Promise ? answer.catch((error: unknown) => this.#refuse(error, requestId)) : answer
  }

  /** Why a long answer broke off stands in the log: its status was sent long before. */
  #watched(answer: Answer | Promise<Answer>, requestId: string): Answer | Promise<Answer> {
    if (answer instanceof Promise || answer.slices === undefined) return answer
    const { slices } = answer
    const warn = (reason: string) => this.#parts.log.warn('answer broken off', { requestId, reason })
    return { ...answer, slices: () => reported(slices(), warn, (error) => this.#refuse(error, requestId)) }
  }

  #compiledOf(route: Route): Compiled {
    const compiled = this.#compiled[route.index]
    if (compiled === undefined) throw new Error('a route points outside the endpoint table')
    return compiled
  }

  #refuse(error: unknown, requestId: string): Answer {
    if (error instanceof ApiError) return failure(error)
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.#parts.log.error('defect', { requestId, detail })
    return failure(new ApiError('INTERNAL', `Something is wrong with the daemon; its log explains ${requestId}`))
  }
}
