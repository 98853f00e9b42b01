import { decodeSegment, type Match, type NoMatch } from './router.ts'

/** Limits the paths, some hundred bytes each; longer paths are not remembered. */
const KNOWN_PATHS_MAX = 4_096
const KNOWN_PATH_LENGTH = 256

export type Params = Readonly<Record<string, string>>
type KnownPath = Match & { readonly params: Params }

/** Remembers requested paths and their routes: pollers request the same few. */
export class KnownPaths {
  readonly #known = new Map<string, KnownPath>()

  get(path: string): KnownPath | undefined {
    return this.#known.get(path)
  }

  keep(path: string, known: KnownPath): void {
    if (path.length > KNOWN_PATH_LENGTH) return
    if (this.#known.size >= KNOWN_PATHS_MAX) this.#known.clear()
    this.#known.set(path, known)
  }
}

/** Returns the decoded parameters of a path. */
export function paramsOf({ route, values }: Match): Params {
  const params: Record<string, string> = {}
  for (let i = 0; i < values.length; i++) params[route.names[i] ?? ''] = decodeSegment(values[i] ?? '')
  return params
}

/** The specification has both spellings. */
const NODE_PARAMS = ['applianceId', 'applianceID'] as const

/** Returns the node that the path names, if it is another one. */
export function otherNodeIn(params: Params, nodeId: string): string | undefined {
  const named = params[NODE_PARAMS[0]] ?? params[NODE_PARAMS[1]]
  return named === nodeId ? undefined : named
}

/** Returns whether the path names a node. */
export const namesNode = (found: Match | NoMatch): boolean =>
  'route' in found && NODE_PARAMS.some((name) => found.route.names.includes(name))
