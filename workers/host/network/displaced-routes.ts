import type { Run } from '../managed-program.ts'
import { type KernelRoute, routeKey } from './kernel-state.ts'
import type { DisplacedRoute } from './memory.ts'

/** State that iproute2 shows of a route but does not accept as an argument. */
const STATE =
  /\s(?:linkdown|dead|offload|rt_offload|trap|rt_trap|offload_failed|notify)(?=\s|$)|\s(?:expires|error) \S+|\\/g

/** Returns foreign routes as the arguments that create them again. */
export async function displacedRoutes(
  routes: readonly KernelRoute[],
  run: Run,
  timeout_ms: number,
): Promise<readonly DisplacedRoute[]> {
  const found: DisplacedRoute[] = []
  for (const route of routes) {
    const { family, table, destination } = route
    const argv = ['ip', `-${family}`, '-o', 'route', 'show', 'table', String(table), 'exact', destination]
    const { output } = await run(argv, timeout_ms)
    const line = output.split('\n').find((text) => metricOf(text) === route.metric && !/\sproto 70\b/.test(text))
    if (line === undefined) continue
    const text = `${line.replaceAll(STATE, '').replaceAll(/\s+/g, ' ').trim()} table ${table}`
    found.push({ key: routeKey(route), family, text })
  }
  return found
}

function metricOf(text: string): number {
  return Number(/\smetric (\d+)/.exec(text)?.[1] ?? 0)
}
