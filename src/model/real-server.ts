import { Type, type Static } from 'typebox'
import { closed, Id, Ip, Name, Port, Weight } from './fields.ts'

export const RealServerState = Type.Enum(['online', 'drained', 'halted'], {
  description:
    'online takes traffic; drained keeps its connections and gets no new clients, but on Layer 7 those that a persistence cookie or a stick-table entry binds to it still come back to it; halted is taken out of every backend.',
})

/** Read only: whether its health checks pass. */
export const Health = Type.Enum(['up', 'down', 'checking', 'unknown'], {
  description:
    'What the health checks of its backends say; unknown without a check, in maintenance, or before the first.',
})
export type Health = Static<typeof Health>

/** A real server as stored: one machine and port that Layer 4 and Layer 7 backends share. */
export const RealServer = closed({
  id: Id,
  name: Name,
  ip: Ip,
  port: Type.Union([Port, Type.Null()], {
    description: 'Traffic port, 1 to 65535; null means the port the client used.',
  }),
  weight: Weight,
  state: RealServerState,
})
export type RealServer = Static<typeof RealServer>
