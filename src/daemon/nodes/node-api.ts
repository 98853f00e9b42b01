import { request } from 'node:https'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { apiUrl, type NodePlace } from './places.ts'

/** Joining takes longest, because it waits for an etcd. */
const ANSWER_MS = 60_000

interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
}

/** A client of one node's public API. */
export class NodeApi {
  readonly #place: NodePlace
  #token: string | undefined

  constructor(place: NodePlace) {
    this.#place = place
  }

  async login(email: string, password: string): Promise<void> {
    this.#token = undefined
    const answer = await this.#ask<{ readonly token: string }>({
      method: 'POST',
      path: '/token',
      body: { email, password },
    })
    this.#token = answer.token
  }

  get<T>(path: string): Promise<T> {
    return this.#ask<T>({ method: 'GET', path })
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#ask<T>({ method: 'POST', path, body })
  }

  async #ask<T>({ method, path, body }: Asked): Promise<T> {
    const { number, state } = this.#place
    // Only the certificate that the node made for itself is trusted: no other server can answer in its place.
    const ca = readFileSync(join(state, 'tls', 'api-certificate.pem'))
    const headers = {
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const options = { method, headers, ca, agent: false, timeout: ANSWER_MS }
    const { status, said } = await new Promise<{ status: number; said: unknown }>((resolve, reject) => {
      const outgoing = request(`${apiUrl(this.#place)}/api/v1${path}`, options, (answer) => {
        json(answer).then((data) => resolve({ status: answer.statusCode ?? 0, said: data }), reject)
      })
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)))
      outgoing.on('error', (error) => reject(new Error(`node ${number} cannot be asked: ${error.message}`)))
      outgoing.end(body === undefined ? undefined : JSON.stringify(body))
    })
    if (status < 300) return Reflect.get(Object(said), 'data') as T
    throw new Error(`node ${number} refused ${method} ${path}: ${String(Reflect.get(Object(said), 'message'))}`)
  }
}
