import type { AlertTarget, Silence } from '../model/alerts.ts'
import type { Certificate } from '../model/certificates.ts'
import type { AlertShown, DeliveriesShown, TargetTested } from '../model/shown-alerts.ts'

export interface AlertsReader {
  /**
   * Returns the current and past alerts of this node, newest first, optionally only those in one state and at most
   * `limit`.
   */
  list(state?: AlertShown['state'], limit?: number): readonly AlertShown[]
  /** Returns the progress of this node's messages to each target. */
  deliveries(): readonly DeliveriesShown[]
  silences(): readonly Silence[]
}
export interface AlertsActor extends AlertsReader {
  /** Sends a test message to a target, which need not be applied; nor need its client certificate. */
  test(target: AlertTarget, certificate: Certificate | undefined, by: string): Promise<TargetTested>
  silence(asked: Omit<Silence, 'id' | 'startedAt'>): Promise<string>
  /** Refuses with NOT_FOUND. */
  endSilence(id: string): Promise<void>
}
