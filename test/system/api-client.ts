import { assertDescribed } from '../fixtures/described.ts'
import type { Finished } from './debian-tree.ts'

/** Address of a daemon of the unit on its own machine. */
export const API = 'https://127.0.0.1:9443/api/v1'
const CURL = ['curl', '-sk', '-w', '\n%{http_code}', '-H', 'Content-Type: application/json', '-X'] as const

export interface Answer {
  readonly status: number
  /** The field `data` of a JSON answer, otherwise the text. */
  readonly data: unknown
  /** The job that continues after a 202. */
  readonly job: string
  readonly text: string
}

export interface ApiClient {
  request(method: string, path: string, body?: unknown): Promise<Answer>
  /** Later requests are sent as this user. */
  logIn(email: string, password: string): Promise<Answer>
  /** Returns the id of a new record. */
  create(path: string, body: unknown): Promise<string>
  token(): string
}

/** Calls a daemon on another machine with a curl that runs where the daemon is reachable. */
export function apiClient(
  run: (...argv: readonly string[]) => Promise<Finished>,
  api = API,
  patience_s = 60,
): ApiClient {
  let token = ''
  const request = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const { stdout } = await run(
      ...CURL,
      method,
      '-m',
      `${patience_s}`,
      ...(token === '' ? [] : ['-H', `Authorization: Bearer ${token}`]),
      ...(body === undefined ? [] : ['--data-binary', JSON.stringify(body)]),
      `${api}${path}`,
    )
    const at = stdout.lastIndexOf('\n')
    const text = stdout.slice(0, at)
    const json = text.startsWith('{') ? (JSON.parse(text) as { data?: unknown; job?: string }) : { data: text }
    const status = Number(stdout.slice(at + 1))
    const sent = body === undefined ? '' : JSON.stringify(body)
    // No answer: 0.
    if (status !== 0)
      assertDescribed({ method, path, body: sent, contentType: 'application/json', status, headers: undefined, text })
    return { status, data: json.data, job: json.job ?? '', text }
  }
  return {
    request,
    async logIn(email, password) {
      const answer = await request('POST', '/token', { email, password })
      token = (answer.data as { token?: string } | undefined)?.token ?? ''
      return answer
    },
    async create(path, body) {
      const { status, data, text } = await request('POST', path, body)
      if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`)
      return (data as { id: string }).id
    },
    token: () => token,
  }
}
