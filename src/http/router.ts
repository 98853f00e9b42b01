import type { Endpoint } from '../api/endpoint.ts'
import { ApiError } from '../base/errors.ts'
import type { Answer } from './envelope.ts'

/** An endpoint with its place in the table and the names of its path parameters in order. */
export interface Route {
  readonly endpoint: Endpoint
  readonly index: number
  readonly names: readonly string[]
}

export interface Match {
  readonly route: Route
  readonly values: readonly string[]
}
/** The methods of a path that exists, for the Allow header; empty when the path does not exist. */
export interface NoMatch {
  readonly allow: readonly string[]
}

/** Returns the match; throws the refusal if there is none. */
export function requireMatch(found: Match | NoMatch): Match {
  if ('route' in found) return found
  if (found.allow.length === 0) throw new ApiError('UNKNOWN_ENDPOINT', 'There is no endpoint at this path')
  const allow = found.allow.join(', ')
  throw new ApiError('METHOD_NOT_ALLOWED', `This path supports ${allow}`, { headers: { Allow: allow } })
}

/** Answers OPTIONS requests. */
export function answerOptions(found: Match | NoMatch): Answer {
  const allow = 'route' in found ? [] : found.allow
  if (allow.length === 0) requireMatch(found)
  const headers = { Allow: allow.join(', ') }
  return { status: 204, contentType: 'text/plain', body: '', headers }
}

interface Node {
  readonly fixed: Map<string, Node>
  parameter: Node | undefined
  route: Route | undefined
}

const node = (): Node => ({ fixed: new Map(), parameter: undefined, route: undefined })

/**
 * Matches method and path; a fixed segment wins over a parameter. One trailing slash is ignored; anything else must
 * match exactly.
 */
export class Router {
  /** One tree per method, so that a path of one method cannot hide a path of another. */
  readonly #roots = new Map<string, Node>()
  readonly #prefix: string

  constructor(prefix: string, endpoints: readonly Endpoint[]) {
    this.#prefix = `${prefix}/`
    for (const [index, endpoint] of endpoints.entries()) if (!endpoint.permissionOnly) this.#add(endpoint, index)
  }

  find(method: string, sent: string): Match | NoMatch {
    const root = this.#roots.get(method === 'HEAD' ? 'GET' : method)
    const path = sent.endsWith('/') ? sent.slice(0, -1) : sent
    // An id that is empty by mistake must not delete all records.
    if (method === 'DELETE' && path !== sent && this.#methodsOf(`${path}/x`).includes(method)) return { allow: [] }
    if (root !== undefined && path.startsWith(this.#prefix)) {
      const values: string[] = []
      const route = descend(root, path, this.#prefix.length, values)
      if (route !== undefined) return { route, values }
    }
    return { allow: this.#methodsOf(path) }
  }

  #methodsOf(path: string): readonly string[] {
    if (!path.startsWith(this.#prefix)) return []
    const has = ([, root]: [string, Node]) => descend(root, path, this.#prefix.length, []) !== undefined
    const methods = [...this.#roots].filter(has).flatMap(([method]) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return methods.length === 0 ? [] : [...methods, 'OPTIONS']
  }

  #add(endpoint: Endpoint, index: number): void {
    const names: string[] = []
    let at = this.#roots.get(endpoint.method)
    if (at === undefined) this.#roots.set(endpoint.method, (at = node()))
    for (const segment of endpoint.path.slice(1).split('/')) {
      if (segment.startsWith('{')) {
        names.push(segment.slice(1, -1))
        at = at.parameter ??= node()
        continue
      }
      let next = at.fixed.get(segment)
      if (next === undefined) at.fixed.set(segment, (next = node()))
      at = next
    }
    at.route = { endpoint, index, names }
  }
}

/** Depth first, fixed segments before parameters; `values` holds the parameters of the current branch. */
function descend(at: Node, path: string, from: number, values: string[]): Route | undefined {
  const slash = path.indexOf('/', from)
  const last = slash === -1
  const segment = last ? path.slice(from) : path.slice(from, slash)
  const fixed = at.fixed.get(segment)
  if (fixed !== undefined) {
    const found = last ? fixed.route : descend(fixed, path, slash + 1, values)
    if (found !== undefined) return found
  }
  if (at.parameter === undefined || segment === '') return undefined
  values.push(segment)
  const found = last ? at.parameter.route : descend(at.parameter, path, slash + 1, values)
  if (found === undefined) values.pop()
  return found
}

/** Decodes a path parameter. */
export function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new ApiError('MALFORMED_REQUEST', 'The path contains an invalid percent-encoding')
  }
}
