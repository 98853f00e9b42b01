import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { httpServer } from '../fixtures/traffic.ts'

/** Requests to a real HAProxy: where they arrived, and their answers. */

interface Arrived {
  readonly at: string
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
}
export interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Undefined when no server received the request. */
  readonly arrived: Arrived | undefined
}

/** Reports the request that it received, and answers with the requested status. */
export const origin = (test: Test, at: string): Promise<number> =>
  httpServer(test, ({ method, url: path, headers }, answer) => {
    answer.statusCode = Number(headers['x-status'] ?? 200)
    answer
      .setHeader('Content-Type', 'application/json')
      .setHeader('Server', 'origin')
      .setHeader('X-Powered-By', 'origin')
    answer.end(JSON.stringify({ at, method, path, headers }))
  })

export interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The source address. */
  readonly localAddress?: string
}

export async function ask(port: number, asked: Asked): Promise<Answered> {
  const { method = 'GET', path = '/', localAddress = '127.0.0.1' } = asked
  const headers = { Host: 'www.example.org', ...asked.headers }
  // A connection of its own: a persistent one ends with the worker that a reload replaces.
  const sent = request({ host: '127.0.0.1', port, method, path, headers, localAddress, agent: false })
  const [answer] = await once(sent.end(), 'response')
  const body = (await buffer(answer)).toString()
  const arrived = body.startsWith('{"at"') ? JSON.parse(body) : undefined
  return { status: answer.statusCode, headers: answer.headers, body, arrived }
}
