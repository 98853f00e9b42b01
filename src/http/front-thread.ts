import { parentPort, workerData } from 'node:worker_threads'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { detailOf } from '../base/log.ts'
import { Validity } from '../base/validity.ts'
import { applicationFor, type PassingApp } from './acceptor.ts'
import { Behind } from './behind.ts'
import { connectionBounds, Connections } from './connections.ts'
import { Exchange, type ListenerState } from './exchange.ts'
import { behindWhatCame, UNWANTED_BODY } from './framing.ts'
import { AnswerMemory, wishOf } from './answer-memory.ts'
import type { FromFront, FrontOptions, ToFront } from './front-messages.ts'
import { Owed } from './owed.ts'
import { commonHeadOf, send, sendLater } from './sending.ts'
import { requestIds } from './server.ts'
import { reasonOf } from '../base/reason.ts'

// A thread in front (docs/decisions/159-threads-in-front.md) speaks TLS and HTTP with clients, answers what it
// remembers, and forwards everything else to the thread behind.

interface FrontListener extends ListenerState {
  isDraining: boolean
  readonly applications: PassingApp[]
}

/** How long a connection that is being passed may take to arrive before this thread ends. */
const PASSED_MS = 250

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by fronts.ts only
const { socketPath, validity, threads, idPrefix } = workerData as FrontOptions
const memory = new AnswerMemory(new Validity(validity))
const nextId = requestIds(idPrefix)
const behind = new Behind(socketPath, memory, nextId)
const connections = new Connections(connectionBounds(undefined, threads), undefined, threads)
const listeners = new Map<number, FrontListener>()

function serve(response: HttpResponse, request: HttpRequest, listener: FrontListener): void {
  const exchange = new Exchange(response, request, listener)
  if (exchange.hasUnwantedBody) {
    // An answer to HEAD has no body, and uWebSockets.js cannot end the connection after one.
    if (exchange.method === 'HEAD') response.close()
    else void sendLater(response, exchange, behindWhatCame(UNWANTED_BODY), nextId())
    return
  }
  const known = memory.find(exchange)
  if (known === undefined) behind.ask(response, exchange, wishOf(exchange))
  else send(response, known, nextId(), exchange)
}

function open({ listener: id, port, tls }: Extract<ToFront, { readonly type: 'open' }>): number {
  const app = applicationFor(tls)
  let listener = listeners.get(id)
  if (listener === undefined) {
    const state = { isDraining: false, isLocal: false, endless: new Set<() => void>(), owed: new Owed() }
    listener = { ...state, commonHead: commonHeadOf(tls), applications: [] }
    listeners.set(id, listener)
  }
  const serving = listener
  serving.applications.push(app)
  connections.watch(app, port)
  app.any('/*', (response, request) => {
    try {
      serve(response, request, serving)
    } catch (error) {
      // uWebSockets.js ends the process if a request is neither answered nor closed.
      tellDefect(error)
      response.close()
    }
  })
  return app.getDescriptor()
}

function close(id: number): void {
  for (const app of listeners.get(id)?.applications ?? []) app.close()
  listeners.delete(id)
}

async function answered({ listener, request }: Extract<ToFront, { readonly type: 'answered' }>): Promise<void> {
  await listeners.get(listener)?.owed.none()
  tell({ type: 'answered', request })
}

async function end(): Promise<void> {
  await sleep(PASSED_MS)
  for (const id of listeners.keys()) close(id)
  behind.close()
  parentPort?.close()
}

const tell = (message: FromFront) => parentPort?.postMessage(message)

const tellDefect = (error: unknown) => tell({ type: 'defect', detail: detailOf(error) })

// A defect fails the request that met it, and no other.
process.on('uncaughtException', tellDefect)

parentPort?.on('message', (message: ToFront) => {
  if (message.type === 'open') {
    const { request } = message
    try {
      tell({ type: 'opened', request, descriptor: open(message) })
    } catch (error) {
      tell({ type: 'failed', request, reason: reasonOf(error) })
    }
  } else if (message.type === 'answered') void answered(message)
  else if (message.type === 'end') void end()
  else if (message.type === 'close') close(message.listener)
  else {
    const listener = listeners.get(message.listener)
    if (listener !== undefined) listener.isDraining = true
  }
})
