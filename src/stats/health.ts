import type { HealthReader } from '../context/figures.ts'
import type { Health } from '../model/real-server.ts'

/** Returns the health that follows from HAProxy's statuses of a real server in its backends: the worst known one. */
export function healthOf(statuses: readonly string[]): Health {
  return worstHealth(statuses.map(judge))
}

/** Returns the worst known health: a failed check counts although another one passes. */
export function worstHealth(each: readonly Health[]): Health {
  return (['down', 'checking', 'up'] as const).find((health) => each.includes(health)) ?? 'unknown'
}

/**
 * "DOWN 1/2" is recovering, "UP 2/3" is failing but still serves; "DOWN (agent)" stays until the agent reports
 * otherwise. Without checks, or in maintenance, the health is unknown.
 */
function judge(status: string): Health {
  if (status.startsWith('DOWN')) return /^DOWN \d/.test(status) ? 'checking' : 'down'
  return /^(?:UP|DRAIN|NOLB)/.test(status) ? 'up' : 'unknown'
}

/** Returns a reader of a real server's health over the checks of all these layers. */
export function healthOver(layers: readonly { health(ripId: string): Health }[]): HealthReader {
  return { ofReal: (ripId) => worstHealth(layers.map((layer) => layer.health(ripId))) }
}
