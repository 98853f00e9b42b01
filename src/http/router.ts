import type { Endpoint, Method } from '../api/endpoint.ts'

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

interface Node {
  readonly fixed: Map<string, Node>
  parameter: Node | undefined
  readonly routes: Map<string, Route>
}

const node = (): Node => ({ fixed: new Map(), parameter: undefined, routes: new Map() })

/** Matches method and path; a fixed segment wins over a parameter. No normalisation: what is not exact is not found. */
export class Router {
  readonly #root = node()
  readonly #prefix: string

  constructor(prefix: string, endpoints: readonly Endpoint[]) {
    this.#prefix = `${prefix}/`
    for (const [index, endpoint] of endpoints.entries()) this.#add(endpoint, index)
  }

  find(method: string, path: string): Match | NoMatch {
    if (!path.startsWith(this.#prefix)) return { allow: [] }
    const values: string[] = []
    const found = descend(this.#root, path, this.#prefix.length, values)
    if (found === undefined) return { allow: [] }
    const route = found.routes.get(method)
    return route === undefined ? { allow: [...found.routes.keys()] } : { route, values }
  }

  #add(endpoint: Endpoint, index: number): void {
    const names: string[] = []
    let at = this.#root
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
    const method: Method = endpoint.method
    at.routes.set(method, { endpoint, index, names })
  }
}

/** Depth first, fixed segments before parameters; `values` holds the parameters of the current branch. */
function descend(at: Node, path: string, from: number, values: string[]): Node | undefined {
  const slash = path.indexOf('/', from)
  const segment = slash === -1 ? path.slice(from) : path.slice(from, slash)
  const last = slash === -1
  const fixed = at.fixed.get(segment)
  if (fixed !== undefined) {
    const found = last ? terminal(fixed) : descend(fixed, path, slash + 1, values)
    if (found !== undefined) return found
  }
  if (at.parameter === undefined || segment === '') return undefined
  values.push(segment)
  const found = last ? terminal(at.parameter) : descend(at.parameter, path, slash + 1, values)
  if (found === undefined) values.pop()
  return found
}

function terminal(at: Node): Node | undefined {
  return at.routes.size > 0 ? at : undefined
}
