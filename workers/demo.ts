import { once } from 'node:events'
import type { ClientRequest, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { http } from '../src/base/http.ts'
import { reasonOf } from '../src/base/reason.ts'

/** Settings of the demo thread: two origin servers on loopback, and light traffic to the frontend before them. */
export interface DemoData {
  /** 0 chooses a free port. */
  readonly originPorts: readonly [number, number]
  readonly frontendUrls: readonly string[]
  /** Requests per second to each URL. */
  readonly requestsPerSecond: number
}

export type DemoCommand = { readonly type: 'stop' }

export type DemoReport =
  | { readonly type: 'ready'; readonly originPorts: readonly [number, number] }
  /** The thread ends afterwards; the daemon continues without a demo. */
  | { readonly type: 'failed'; readonly message: string }

const TICK_MS = 50
const IN_FLIGHT_MAX = 16
const REQUEST_TIMEOUT_MS = 2000
/** While the frontend does not answer, one attempt per interval is enough to notice its return. */
const RETRY_MS = 500
/** The rate varies around its mean, so that the curves look alive. */
const SWING = 0.4
const SWING_PERIOD_MS = 60_000
const BODY_SIZES_BYTES = [300, 700, 1200, 450, 2600, 900, 4000, 350]

function createOrigin(name: string): Server {
  const bodies = BODY_SIZES_BYTES.map((size_bytes) => `${name}\n`.padEnd(size_bytes, '.'))
  let served = 0
  return http.createServer((incoming, answer) => {
    answer.setHeader('X-Origin', name)
    answer.setHeader('Content-Type', 'text/plain')
    if (incoming.url !== '/health') served += 1
    answer.end(incoming.url === '/health' ? 'ok\n' : bodies[served % bodies.length])
  })
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Sends requests at the given rate; returns a function that stops them. */
function createTraffic(url: string, requestsPerSecond: number): () => void {
  const keepAlive = new http.Agent({ keepAlive: true, maxSockets: 2 })
  const inFlight = new Set<ClientRequest>()
  const started_ms = performance.now()
  let sent = 0
  let due = 0
  let isAnswering = true
  let tried_ms = 0

  const send = () => {
    sent += 1
    const attempt = http.request(
      url,
      { agent: sent % 2 === 0 ? keepAlive : false, timeout: REQUEST_TIMEOUT_MS },
      (answer) => {
        isAnswering = true
        answer.on('error', () => undefined).resume()
      },
    )
    inFlight.add(attempt)
    attempt.on('timeout', () => attempt.destroy())
    attempt.on('error', () => {
      isAnswering = false
    })
    attempt.on('close', () => inFlight.delete(attempt))
    attempt.end()
  }

  const timer = setInterval(() => {
    const now_ms = performance.now()
    if (!isAnswering) {
      if (now_ms - tried_ms < RETRY_MS || inFlight.size > 0) return
      due = 1
    }
    const phase = ((now_ms - started_ms) / SWING_PERIOD_MS) * 2 * Math.PI
    due = Math.min(due + requestsPerSecond * (1 + SWING * Math.sin(phase)) * (TICK_MS / 1000), IN_FLIGHT_MAX)
    for (; due >= 1 && inFlight.size < IN_FLIGHT_MAX; due -= 1) {
      tried_ms = now_ms
      send()
      if (!isAnswering) break
    }
  }, TICK_MS)

  return () => {
    clearInterval(timer)
    for (const attempt of inFlight) attempt.destroy()
    keepAlive.destroy()
  }
}

async function runDemo(port: MessagePort, data: DemoData): Promise<void> {
  const origins = ['origin-1', 'origin-2'].map(createOrigin) as [Server, Server]
  const closings: (() => void)[] = origins.map((server) => () => {
    server.close()
    server.closeAllConnections()
  })
  const end = () => {
    for (const close of closings.splice(0)) close()
    port.close()
  }
  const report = (message: DemoReport) => port.postMessage(message)
  port.on('message', (command: DemoCommand) => {
    if (command.type === 'stop') end()
  })
  try {
    const originPorts = [
      await listen(origins[0], data.originPorts[0]),
      await listen(origins[1], data.originPorts[1]),
    ] as const
    closings.push(...data.frontendUrls.map((url) => createTraffic(url, data.requestsPerSecond)))
    report({ type: 'ready', originPorts })
  } catch (error) {
    report({ type: 'failed', message: reasonOf(error) })
    end()
  }
}

// Only in a thread: tests import the types.
if (parentPort !== null) await runDemo(parentPort, workerData as DemoData)
