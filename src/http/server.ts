import { rmSync } from 'node:fs'
import uws, { App, type HttpRequest, type HttpResponse, type TemplatedApp } from 'uWebSockets.js'
import { SOCKET_PATH_BYTES_MAX } from '../base/socket-address.ts'
import { validity } from '../base/validity.ts'
import { AnswerMemory, isKeepable, wishOf } from './answer-memory.ts'
import { connectionBounds, Connections } from './connections.ts'
import type { Answer } from './envelope.ts'
import { Exchange, type ListenerState } from './exchange.ts'
import type { Fronts } from './fronts.ts'
import { Acceptor, OwnSpeakers, type Tls } from './acceptor.ts'
import { behindWhatCame, UNWANTED_BODY } from './framing.ts'
import type { Incoming } from './incoming.ts'
import { FrontedExchange } from './fronted-exchange.ts'
import { freePlace, isServed, openLocalSocket, openSocket, stopListening } from './listening.ts'
import { Owed } from './owed.ts'
import { COMMON_HEAD, commonHeadOf, send, sendLater } from './sending.ts'
import { TurnRefusals } from './turn-refusals.ts'

export interface Listener {
  readonly host: string
  readonly port: number
  /**
   * Shows another certificate from the next connection on; resolves with a function that takes it back. Rejects if it
   * cannot be shown.
   */
  present(tls: Tls): Promise<() => void>
  /** Accepts no new connections; each open one ends with its next answer. */
  drain(): void
  /**
   * Gives this answer to all new requests until `resume`; resolves when all earlier requests are answered. Answers
   * without an end of their own end at once.
   */
  rest(answer: Answer): Promise<void>
  /** Cuts answers that are still generated while they are sent, because their source is about to close. */
  cut(): void
  /** Answers with this handler from now on. */
  resume(handle: Handler): void
  /** Begins no more requests; resolves when all earlier ones are answered. */
  stop(): Promise<void>
  /** Ends every connection at once. */
  close(): void
}

export type LocalListener = Pick<Listener, 'rest' | 'cut' | 'resume' | 'stop' | 'close'>

export type Handler = (incoming: Incoming, requestId: string) => Answer | Promise<Answer>

/** Long downloads and streams of a listener that is given up are cut after this time. */
const DRAIN_MS = 5 * 60_000

/** Returns a generator of ids that are unique in this process and, by the prefix, across restarts. */
export function requestIds(prefix: string): () => string {
  let count = 0
  return () => `${prefix}-${(count++).toString(36)}`
}

export interface ListenOptions {
  /** Whether another listener of this process has the port, on this or every address, and is about to give it up. */
  readonly isHandover?: boolean
  /** Threads that talk to the clients and forward requests to this one. */
  readonly fronts?: Fronts | undefined
}

// Removes the header `uWebSockets`, which would reveal the server. Missing in the package's types.
const configure: unknown = Reflect.get(uws, '_cfg')
if (typeof configure === 'function') configure('silent')

/** The connections of this thread. */
const connections = new Connections(connectionBounds())

/** Opens one listening socket. Refuses if another process has the address. */
export async function listen(
  address: { readonly host: string; readonly port: number },
  tls: Tls | undefined,
  handle: Handler,
  nextId: () => string,
  { isHandover = false, fronts }: ListenOptions = {},
): Promise<Listener> {
  // Every listener may share its port, which a handover needs; so another process on the port must be detected
  // beforehand.
  const place = isHandover ? address : await freePlace(address)
  const memory = fronts === undefined ? new AnswerMemory(validity) : undefined
  const state = newState(handle, { commonHead: commonHeadOf(tls), memory })
  const serveOn = (app: TemplatedApp) => answering(app, place.port, state, nextId)
  const beside = fronts?.listener(place.port)
  const acceptor = await Acceptor.open(tls, beside ?? new OwnSpeakers(serveOn))
  const socket = await openSocket(acceptor.application, place)
  const endSoon = () => {
    if (!state.isDraining) stopListening(socket)
    beside?.drain()
    state.isDraining = true
  }
  return {
    ...place,
    present(other) {
      if (tls === undefined) throw new Error('plain HTTP shows no certificate')
      return acceptor.present(other)
    },
    drain() {
      if (state.isDraining) return
      endSoon()
      setTimeout(() => acceptor.close(), DRAIN_MS).unref()
    },
    ...resting(state),
    stop() {
      endSoon()
      state.isStopping = true
      return beside === undefined ? state.owed.none() : beside.answered()
    },
    close: () => acceptor.close(),
  }
}

function resting(state: State): Pick<Listener, 'rest' | 'cut' | 'resume'> {
  return {
    rest(answer) {
      state.handle = () => answer
      for (const end of state.endless) end()
      return state.owed.none()
    },
    cut: () => state.owed.cut(),
    resume(handle) {
      state.handle = handle
    },
  }
}

/**
 * Opens the named socket, to which only root and the account of this process can connect: a caller without a token is
 * local root. Refuses if another daemon listens there.
 */
export function listenLocally(path: string, handle: Handler, nextId: () => string): Promise<LocalListener> {
  return listenAt(path, newState(handle, { isLocal: true }), nextId)
}

/** Opens the socket for the threads in front, which report the address of their client. */
export function listenToFronts(path: string, handle: Handler, nextId: () => string): Promise<LocalListener> {
  return listenAt(path, newState(handle, { isBehindFronts: true, commonHead: '' }), nextId)
}

async function listenAt(path: string, state: State, nextId: () => string): Promise<LocalListener> {
  const bytes = Buffer.byteLength(path)
  if (bytes > SOCKET_PATH_BYTES_MAX)
    throw new Error(`its name has ${bytes} bytes, but a socket name has at most ${SOCKET_PATH_BYTES_MAX}`)
  if (await isServed(path)) throw new Error(`another process listens on ${path}`)
  const app = answering(App(), state.isBehindFronts ? undefined : 0, state, nextId)
  const socket = await openLocalSocket(app, path)
  return {
    ...resting(state),
    stop() {
      if (!state.isStopping) stopListening(socket)
      state.isStopping = true
      return state.owed.none()
    },
    close() {
      app.close()
      rmSync(path, { force: true })
    },
  }
}

function newState(handle: Handler, more: Partial<State>): State {
  return {
    handle,
    memory: undefined,
    isDraining: false,
    isStopping: false,
    isLocal: false,
    isBehindFronts: false,
    endless: new Set(),
    commonHead: COMMON_HEAD,
    owed: new Owed(),
    ...more,
  }
}

/** `port`: connections to it are counted; undefined for the socket of the threads in front. */
function answering(app: TemplatedApp, port: number | undefined, state: State, nextId: () => string): TemplatedApp {
  if (port !== undefined) connections.watch(app, port)
  return app.any('/*', (response, request) => serve(response, request, nextId(), state))
}

interface State extends ListenerState {
  handle: Handler
  /** Undefined if every request is to be handled. */
  readonly memory: AnswerMemory | undefined
  /** Whether threads in front send requests here, for their clients. */
  readonly isBehindFronts: boolean
  isDraining: boolean
  /** Whether new requests are dropped by ending their connection. */
  isStopping: boolean
}

/** Per thread: all its listeners share one event loop. */
const refusals = new TurnRefusals()

function serve(response: HttpResponse, request: HttpRequest, requestId: string, state: State): void {
  if (state.isStopping) {
    response.close()
    return
  }
  const exchange = state.isBehindFronts
    ? new FrontedExchange(response, request, state)
    : new Exchange(response, request, state)
  if (exchange.hasUnwantedBody && exchange.method === 'HEAD') {
    // An answer to HEAD has no body, and uWebSockets.js cannot end the connection after one.
    response.close()
    return
  }
  const known = exchange.hasUnwantedBody ? undefined : state.memory?.find(exchange)
  if (known === undefined) respond(response, exchange, requestId, state)
  else send(response, known, requestId, exchange)
}

function respond(response: HttpResponse, exchange: Exchange, requestId: string, state: State): void {
  const answer = exchange.hasUnwantedBody ? UNWANTED_BODY : state.handle(exchange, requestId)
  if (state.memory !== undefined) remember(state.memory, exchange, answer)
  if (!(answer instanceof Promise) && refusals.areTooMany(answer.status)) {
    response.close()
    return
  }
  if (!(answer instanceof Promise) && !exchange.isUnclear) {
    send(response, answer, requestId, exchange)
    return
  }
  const late = exchange.isUnclear ? behindWhatCame(answer) : Promise.resolve(answer)
  void state.owed.until(sendLater(response, exchange, late, requestId))
}

/**
 * An immediate answer is remembered at once; for a late one, the headers of the request are read before they are gone.
 */
function remember(memory: AnswerMemory, exchange: Exchange, answer: Answer | Promise<Answer>): void {
  const { keep } = exchange
  if (keep === undefined || (!(answer instanceof Promise) && !isKeepable(answer))) return
  const wish = wishOf(exchange)
  if (wish === undefined) return
  if (!(answer instanceof Promise)) memory.learn(wish, answer, keep)
  else
    void answer.then(
      (late) => memory.learn(wish, late, keep),
      () => undefined,
    )
}
