import type { Endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { type Rights, WHOLLY } from '../auth/permissions.ts'
import { type Log, strangersLog } from '../base/log.ts'
import type { Actor } from '../context/actor.ts'
import type { Stream } from '../context/rendered.ts'
import type { PeerAnswer, PeerRequest } from '../peers/answering.ts'
import {
  type Asked,
  type Authenticate,
  NOBODY,
  type Proof,
  type Who,
  admit,
  admitAgain,
  isSomebody,
  refuseDenied,
  stillAllowed,
} from './admission.ts'
import { type AuditTrail, type Deeds, isAudited, isNotedBefore, noteOf, noted, toldBy } from './audited.ts'
import { type ParseLarge, largeBodies, mayBeLarge, readBody } from './body.ts'
import { type Answer, answerWith } from './envelope.ts'
import { NOT_FORWARDED, forPeer, fromPeer } from './forwarded.ts'
import { Forwarding, type OtherNodes } from './forwarding.ts'
import { holderNamedIn, holderOf, isOfTransaction, type TransactionsElsewhere, withBody } from './in-transactions.ts'
import { HAS_BODY, type Incoming, headersFor, keepHeaders, proofOf } from './incoming.ts'
import { KnownPaths, namesNode, otherNodeIn, paramsOf } from './known-paths.ts'
import { lasting } from './lasting.ts'
import { namedParams } from './named-params.ts'
import { Places, runInPlace } from '../base/places.ts'
import { refuseUncompared } from './preconditions.ts'
import { negotiate, wantedOf } from './prepared.ts'
import { answerRefusal } from './refusal.ts'
import { type Route, Router, answerOptions, requireMatch } from './router.ts'
import { type SharedLog, sequenced } from './sequenced.ts'
import { whileAllowed } from './streams.ts'
import { Validation, parseQuery } from './validation.ts'

export const API_PREFIX = '/api/v1'
/** A caller that is answered from memory is checked again at the latest after this time. */
const KEPT_MS_MAX = 10_000

/** The effect of one request on the configuration, and what is reported about it. */
export interface Work extends Deeds {
  /** Runs the handler; for staging effects inside one atomic edit. */
  run(handler: () => unknown): unknown
  /** The ETag of the record that was read. */
  readonly tagRead: string | undefined
}

/** The context of a handler, as far as the pipeline knows it. */
export interface HandlerContext {
  readonly work: Work
}

export interface PipelineParts {
  readonly endpoints: readonly Endpoint[]
  readonly nodeId: string
  readonly log: Log
  readonly audit: AuditTrail
  readonly authenticate: Authenticate
  /** Returns when a valid token expires; Unix time in ms. */
  readonly expiryOf: (proof: Proof) => number
  /** Returns whether a token is genuine, even if its session is not known here yet. */
  readonly isIssued: (proof: Proof) => boolean
  readonly parseLarge: ParseLarge
  /** Refuses a transaction that is not open, or that the endpoint cannot be part of. */
  readonly createContext: CreateContext
  /** Set if the daemon only observes its HAProxy: refuses requests that would manage it. */
  readonly observed: { refuse(): never } | undefined
  /** Undefined if this is the only node. */
  readonly nodes?: OtherNodes | undefined
  /** Reports a transaction that another node holds. */
  readonly transactions?: TransactionsElsewhere | undefined
  /** Undefined if this node is in no cluster. */
  readonly sharedLog?: SharedLog | undefined
}
export type CreateContext = (
  asked: Asked,
  ifMatch: string | undefined,
  transactionId: string | undefined,
) => HandlerContext

interface Compiled {
  readonly body: Validation
  readonly query: Validation
  readonly places: Places | undefined
}

/** route → who → may → where → read → valid → handle → reply. Answers at once if nothing has to be waited for. */
export class Pipeline {
  readonly #parts: PipelineParts
  readonly #router: Router
  readonly #compiled: readonly Compiled[]
  readonly #largeBodies = largeBodies()
  #unanswered = 0
  readonly #known = new KnownPaths()
  readonly #strangers: Log
  readonly #forwarding: Forwarding

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#strangers = strangersLog(parts.log)
    this.#forwarding = new Forwarding(parts)
    this.#router = new Router(API_PREFIX, parts.endpoints)
    this.#compiled = parts.endpoints.map((endpoint) => ({
      body: new Validation(endpoint.body, endpoint, endpoint.method === 'PUT'),
      query: new Validation(endpoint.query),
      places: endpoint.atOnce && new Places({ ...endpoint.atOnce, retryAfter_s: 2 }),
    }))
  }

  /** Whether every request that changes something has been answered. */
  get isQuiet(): boolean {
    return this.#unanswered === 0
  }

  handle(incoming: Incoming, requestId: string): Answer | Promise<Answer> {
    const { sharedLog } = this.#parts
    if (sharedLog === undefined) return this.#handle(incoming, requestId)
    const answer = (one: Incoming) => this.#handle(one, requestId)
    return sequenced(sharedLog, incoming, answer, () => isSomebody(incoming, this.#parts))
  }

  #handle(incoming: Incoming, requestId: string): Answer | Promise<Answer> {
    let route: Route | undefined
    let actor = NOBODY
    try {
      const { method, path } = incoming
      if (method === 'OPTIONS') return answerOptions(this.#router.find(method, path))
      const known = method === 'GET' ? this.#known.get(path) : undefined
      const match = known ?? requireMatch(this.#router.find(method, path))
      route = match.route
      const who = admit(route.endpoint, incoming, this.#parts.authenticate)
      actor = who.actor
      refuseDenied(route, who)
      const params = known?.params ?? paramsOf(match)
      const asked = { route, incoming, actor, params, requestId }
      const spread = this.#ofNodes(asked, who.rights)
      if (spread !== undefined) return spread
      const other = this.#otherNode(asked, known !== undefined)
      if (other !== undefined) return this.#elsewhere(asked, who.rights, other)
      if (HAS_BODY.has(method)) return this.#counted(this.#withBody(asked, who.rights))
      if (known === undefined) this.#known.keep(path, { ...match, params })
      return this.#read(asked, who)
    } catch (error) {
      return this.#turnedAway(route, incoming, actor, requestId, answerRefusal(error, requestId, this.#parts.log))
    }
  }

  #read(asked: Asked, who: Who): Answer | Promise<Answer> {
    const { endpoint } = asked.route
    if (endpoint.isSameForAll && asked.incoming.letKeep !== undefined) this.#letKeep(asked, who)
    if (!isAudited(endpoint)) return this.#answer(asked, this.#contextFor(asked))
    return endpoint.reveals ? this.#revealed(asked) : this.#cameBack(asked)
  }

  /** Partly granted endpoints are excluded: their answers differ between callers. */
  #letKeep({ route, incoming }: Asked, { rights }: Who): void {
    const proof = proofOf(incoming)
    if (proof === undefined || rights?.granted[route.index] !== WHOLLY) return
    incoming.letKeep?.(() => Math.min(Date.now() + KEPT_MS_MAX, this.#parts.expiryOf(proof)))
  }

  /** Answers a forwarded request as if its caller had sent it to this node. */
  async handleForwarded(request: PeerRequest): Promise<PeerAnswer> {
    const { method, path, requestId, signal } = request
    signal.throwIfAborted()
    const found = this.#router.find(method, path)
    const isForwarded =
      namesNode(found) ||
      isOfTransaction(found, request.headers['x-transaction-id']) ||
      ('route' in found && found.route.endpoint.ofNodes !== undefined)
    return forPeer(isForwarded ? await this.handle(fromPeer(request), requestId) : NOT_FORWARDED)
  }

  /** A request about records that each node has of its own goes to the node that the query names, or to all. */
  #ofNodes(asked: Asked, rights: Rights | undefined): Answer | Promise<Answer> | undefined {
    const { route, incoming } = asked
    const { nodeId } = this.#parts
    const { ofNodes } = route.endpoint
    if (ofNodes === undefined || incoming.query === '') return undefined
    const query = Object(parseQuery(incoming.query, this.#compiledOf(route.index).query))
    const node = Reflect.get(query, 'node') ?? nodeId
    if (node === nodeId) return undefined
    if (node !== 'all' || ofNodes === 'one') return this.#elsewhere(asked, rights, node)
    const own = () => this.#answer(asked, this.#contextFor(asked))
    return this.#forwarding.gather({ asked, rights, nodeId, own }, ofNodes, query)
  }

  /** Returns the node that answers instead of this one. Refuses an unknown id. */
  #otherNode(asked: Asked, isKnown: boolean): string | undefined {
    const named = this.#namedNode(isKnown, asked)
    // Whatever the path, the request may belong to a transaction that another node holds.
    const held = named === undefined ? this.#parts.transactions?.elsewhere : undefined
    return held === undefined || asked.incoming.carried !== undefined ? named : holderOf(held, asked)
  }

  #namedNode(isKnown: boolean, { route, params, incoming }: Asked): string | undefined {
    const { answeredByAny } = route.endpoint
    // Known paths are answered on this node.
    if (answeredByAny === undefined) return isKnown ? undefined : otherNodeIn(params, this.#parts.nodeId)
    const named = otherNodeIn(params, this.#parts.nodeId)
    if (named === undefined || answeredByAny === 'for any id') return undefined
    if (answeredByAny === 'in transactions' && incoming.header('x-transaction-id') === '') return named
    this.#forwarding.assertMember(named)
    return undefined
  }

  #elsewhere(asked: Asked, rights: Rights | undefined, nodeId: string): Promise<Answer> {
    const { route, incoming } = asked
    const isRead = !HAS_BODY.has(incoming.method)
    const kept = isRead && route.endpoint.transactionIn !== undefined ? keepHeaders(incoming) : undefined
    const answer = this.#forwarding.forward(asked, rights, nodeId)
    if (kept !== undefined) return this.#orHere(answer, { ...asked, incoming: kept })
    return isRead ? answer : this.#counted(answer)
  }

  /**
   * Every node knows that a transaction is open, not only the one that holds it, so this node answers if that one is
   * away.
   */
  async #orHere(answer: Promise<Answer>, asked: Asked): Promise<Answer> {
    const there = await answer
    if (there.code !== 'NODE_UNREACHABLE') return there
    try {
      return await this.#answer(asked, this.#contextFor(asked))
    } catch (error) {
      return answerRefusal(error, asked.requestId, this.#parts.log)
    }
  }

  /** Logs a caller that was turned away, and every attempt to change something. */
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
    return noted(this.#parts, noteOf({ route, incoming, actor, requestId }), answer)
  }

  /** Callers that are not logged in have a log of limited size, so that they cannot fill it. */
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

  async #withBody(asked: Asked, rights: Rights | undefined): Promise<Answer> {
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
      // Headers cannot be read after the first await.
      const askAgain = admitAgain(asked, this.#parts.authenticate)
      const kept = { ...asked, askAgain, incoming: keepHeaders(incoming, endpoint.headers) }
      body = await readBody(endpoint, incoming, this.#compiledOf(route.index).body, this.#parts.parseLarge)
      askAgain()
      const holder = holderNamedIn(body, endpoint, incoming, this.#parts.transactions)
      if (holder !== undefined) return await this.#elsewhere(withBody(kept, body), rights, holder)
      refuseUncompared(endpoint, kept.incoming.header('if-match'))
      if (endpoint.effect === 'stage') this.#parts.audit.assertRoom(endpoint)
      if (isAudited(endpoint)) this.#parts.audit.assertShare({ ...note, body })
      if (isNotedBefore(endpoint)) {
        // An invalid query begins nothing.
        parseQuery(incoming.query, this.#compiledOf(route.index).query)
        isBegun = await this.#parts.audit.record({ ...note, body }, {})
      }
      context = this.#contextFor(kept)
      answer = await this.#answer(kept, context, body)
    } catch (error) {
      answer = answerRefusal(error, requestId, this.#parts.log)
    } finally {
      free()
    }
    const [duration_ms, { status }] = [Math.round(performance.now() - started_ms), answer]
    this.#logOf(actor).info('request', { requestId, method, path, address, by: actor.email, status, duration_ms })
    return isAudited(endpoint)
      ? noted(this.#parts, { ...note, ...toldBy(context?.work), body, isBegun }, answer)
      : answer
  }

  /** Answers with a secret only after the disk records who requested it. */
  async #revealed(asked: Asked): Promise<Answer> {
    const note = noteOf(asked)
    const kept = { ...asked, incoming: keepHeaders(asked.incoming, note.endpoint.headers) }
    try {
      this.#parts.audit.assertShare(note)
      await this.#parts.audit.record(note, {})
      return await noted(this.#parts, note, await this.#answer(kept, this.#contextFor(kept)))
    } catch (error) {
      return answerRefusal(error, asked.requestId, this.#parts.log)
    }
  }

  /** Handles a browser that returns from an identity provider: the login is recorded whatever its outcome. */
  async #cameBack(asked: Asked): Promise<Answer> {
    const note = noteOf(asked)
    let answer: Answer
    try {
      answer = await this.#answer(asked, this.#contextFor(asked))
    } catch (error) {
      answer = answerRefusal(error, asked.requestId, this.#parts.log)
    }
    return noted(this.#parts, note, answer)
  }

  #contextFor(asked: Asked): HandlerContext {
    const { route, incoming } = asked
    const { endpoint } = route
    const ifMatch = endpoint.method === 'GET' ? '' : incoming.header('if-match')
    const transactionId = endpoint.access === 'public' ? '' : incoming.header('x-transaction-id')
    return this.#parts.createContext(asked, ifMatch || undefined, transactionId || undefined)
  }

  #answer(asked: Asked, context: HandlerContext, body?: unknown): Answer | Promise<Answer> {
    const { route, incoming, params, requestId } = asked
    const { endpoint } = route
    const compiled = this.#compiledOf(route.index)
    const query = parseQuery(incoming.query, compiled.query)
    if (endpoint.managedOnly) this.#parts.observed?.refuse()
    const accept = endpoint.produces.length > 1 ? incoming.header('accept') : ''
    const request = { params, query, body, accept, headers: headersFor(endpoint, incoming) }
    const result = callInPlace(endpoint, context, request, compiled.places, asked.actor.userId)
    // Headers cannot be read after the first await.
    const wanted = result instanceof Promise ? wantedOf(incoming) : undefined
    const finish = (settled: unknown): Answer | Promise<Answer> => {
      if (!(settled instanceof Reply) || settled.rendered === undefined)
        return answerWith(endpoint, namedParams(params, context.work.changes), settled, context.work.tagRead)
      const { stream } = settled.rendered
      const ready =
        stream === undefined ? settled.rendered : { ...settled.rendered, stream: this.#guarded(asked, stream) }
      return lasting(negotiate(ready, wanted ?? wantedOf(incoming)), asked, this.#parts.log)
    }
    const answer = result instanceof Promise ? result.then(finish) : finish(result)
    return answer instanceof Promise
      ? answer.catch((error: unknown) => answerRefusal(error, requestId, this.#parts.log))
      : answer
  }

  /** Ends a stream with the session, or the right, that it was opened with. */
  #guarded(asked: Asked, stream: Stream): Stream {
    return whileAllowed(stream, stillAllowed(asked, this.#parts.authenticate))
  }

  #compiledOf(index: number): Compiled {
    const compiled = this.#compiled[index]
    if (compiled === undefined) throw new Error('a route points outside the endpoint table')
    return compiled
  }
}

/** Runs the handler of a staging effect inside one atomic edit. */
export interface Running {
  readonly work: Pick<Work, 'run'>
}

/** Calls the endpoint while the user holds one of the places for requests of this kind. */
export function callInPlace(
  endpoint: Endpoint,
  context: Running,
  request: unknown,
  places: Places | undefined,
  holder: string,
): unknown {
  if (places === undefined) return callHandler(endpoint, context, request)
  return runInPlace(places, holder, () => callHandler(endpoint, context, request))
}

/** Calls the endpoint. Its preparation is done before its turn to edit, and has no effect if the edit is refused. */
export function callHandler({ effect, prepare, handle }: Endpoint, context: Running, request: unknown): unknown {
  const call = (prepared?: unknown) => handle(context as never, request as never, prepared as never)
  if (effect === 'read') return call()
  if (prepare === undefined) return context.work.run(call)
  return prepare(context as never, request as never).then((prepared) => context.work.run(() => call(prepared)))
}
