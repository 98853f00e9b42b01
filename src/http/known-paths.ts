import { ApiError } from '../errors.ts'
import { decoded, type Match } from './router.ts'

/** Some hundred bytes each: longer paths are not remembered, whoever sends them. */
const KNOWN_PATHS_MAX = 4_096
const KNOWN_PATH_LENGTH = 256

export type Params = Readonly<Record<string, string>>
type KnownPath = Match & { readonly params: Params }

/** Paths that were asked for, with what they lead to: pollers ask for the same few. */
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

/** The parameters of a path, decoded; refuses another node than this one. */
export function paramsOf({ route, values }: Match, nodeId: string): Params {
  const params: Record<string, string> = {}
  for (let i = 0; i < values.length; i++) params[route.names[i] ?? ''] = decoded(values[i] ?? '')
  const node = params['applianceId'] ?? params['applianceID']
  if (node !== undefined && node !== nodeId) throw new ApiError('NOT_FOUND', `There is no node with id ${node}`)
  return params
}
