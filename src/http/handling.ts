import type { Endpoint } from '../api/endpoint.ts'
import { placed, type Places } from './places.ts'

/** Runs what the handler does of a staging effect inside one atomic edit. */
export interface Running {
  run(handler: () => unknown): unknown
}

/** What the endpoint answers, while the user has a place among those whose requests of this kind are worked on. */
export function handledInPlace(
  endpoint: Endpoint,
  context: Running,
  request: unknown,
  places: Places | undefined,
  holder: string,
): unknown {
  if (places === undefined) return handled(endpoint, context, request)
  return placed(places, holder, () => handled(endpoint, context, request))
}

/** What the endpoint answers. What it prepares is done before its turn to edit, and of no effect when that is refused. */
export function handled({ effect, prepare, handle }: Endpoint, context: Running, request: unknown): unknown {
  const call = (prepared?: unknown) => handle(context as never, request as never, prepared as never)
  if (effect === 'read') return call()
  if (prepare === undefined) return context.run(call)
  return prepare(context as never, request as never).then((prepared) => context.run(() => call(prepared)))
}
