import type { HealthChange } from '../../workers/archive/messages.ts'
import type { Events } from './events.ts'
import type { ConfigView } from '../model/sections.ts'

/**
 * Publishes an event for each real server that goes up or down, with the ids and names of the running configuration.
 */
export function healthEvents(events: Pick<Events, 'publish'>, running: ConfigView) {
  return (changes: readonly HealthChange[]): void => {
    for (const { backend, server, up, reason } of changes) {
      events.publish('realServer', {
        state: up ? 'up' : 'down',
        id: server,
        name: running.get('realServers', server)?.name ?? server,
        backendId: backend,
        backendName: (running.get('l7Backends', backend) ?? running.get('l4Backends', backend))?.name ?? backend,
        reason,
      })
    }
  }
}
