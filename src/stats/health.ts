import type { HealthReader } from '../context/figures.ts'
import type { Health } from '../model/real-server.ts'

/** What HAProxy's statuses of a real server in its backends come to: the worst that is known. */
export function healthOf(statuses: readonly string[]): Health {
  return worstHealth(statuses.map(judge))
}

/** The worst that is known: what one check says holds although another one passes. */
export function worstHealth(each: readonly Health[]): Health {
  return (['down', 'checking', 'up'] as const).find((health) => each.includes(health)) ?? 'unknown'
}

/**
 * "DOWN 1/2" is on its way up, "UP 2/3" on its way down but serving; "DOWN (agent)" stays so until the agent says
 * otherwise. Without checks, or in maintenance, nobody knows.
 */
function judge(status: string): Health {
  if (status.startsWith('DOWN')) return /^DOWN \d/.test(status) ? 'checking' : 'down'
  return /^(?:UP|DRAIN|NOLB)/.test(status) ? 'up' : 'unknown'
}

/** What the health checks of all these layers say of a real server. */
export function healthOver(layers: readonly { health(ripId: string): Health }[]): HealthReader {
  return { ofReal: (ripId) => worstHealth(layers.map((layer) => layer.health(ripId))) }
}
