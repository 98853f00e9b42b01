import type { HealthChange } from '../../workers/archive/messages.ts'
import type { Events } from './events.ts'
import type { ConfigView } from '../model/sections.ts'

/** Tells of real servers that went up or down, by the ids and names they have in running. */
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
