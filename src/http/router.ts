import type { Endpoint } from '../api/endpoint.ts'
import { ApiError } from '../errors.ts'

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

/** What was found, or the refusal for it. */
export function matched(found: Match | NoMatch): Match {
  if ('route' in found) return found
  if (found.allow.length === 0) throw new ApiError('UNKNOWN_ENDPOINT', 'There is no endpoint at this path')
  const allow = found.allow.join(', ')
  throw new ApiError('METHOD_NOT_ALLOWED', `This path supports ${allow}`, { headers: { Allow: allow } })
}

interface Node {
  readonly fixed: Map<string, Node>
  parameter: Node | undefined
  route: Route | undefined
}

const node = (): Node => ({ fixed: new Map(), parameter: undefined, route: undefined })

/** Matches method and path; a fixed segment wins over a parameter. No normalisation: what is not exact is not found. */
export class Router {
  /** One tree a method, so that what another method has at a place cannot hide a path. */
  readonly #roots = new Map<string, Node>()
  readonly #prefix: string

  constructor(prefix: string, endpoints: readonly Endpoint[]) {
    this.#prefix = `${prefix}/`
    for (const [index, endpoint] of endpoints.entries()) if (!endpoint.permissionOnly) this.#add(endpoint, index)
  }

  find(method: string, path: string): Match | NoMatch {
    const root = this.#roots.get(method)
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
    return [...this.#roots].filter(has).map(([method]) => method)
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

/** A path parameter as it was meant. */
export function decoded(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new ApiError('MALFORMED_REQUEST', 'The path holds a broken percent-encoding')
  }
}
