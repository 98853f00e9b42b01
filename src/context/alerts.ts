import type { AlertTarget, Silence } from '../model/alerts.ts'
import type { AlertShown, DeliveriesShown, TargetTested } from '../model/shown-alerts.ts'

export interface AlertsReader {
  /** What fires and what has fired on this node, newest first: all of it, or so many in one state. */
  list(state?: AlertShown['state'], limit?: number): readonly AlertShown[]
  /** How far this node is with the messages of each target. */
  deliveries(): readonly DeliveriesShown[]
  silences(): readonly Silence[]
}
export interface AlertsActor extends AlertsReader {
  /** Sends a message that is none to a target, which need not be applied. */
  test(target: AlertTarget, by: string): Promise<TargetTested>
  silence(asked: Omit<Silence, 'id' | 'startedAt'>): Promise<string>
  /** Refuses with NOT_FOUND. */
  endSilence(id: string): Promise<void>
}
