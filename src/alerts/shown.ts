import type { AlertTarget, Silence } from '../model/alerts.ts'
import type { ConfigView } from '../model/sections.ts'
import type { AlertShown, DeliveriesShown } from '../model/shown-alerts.ts'
import type { Alert } from './alert-book.ts'
import { type Kept, type Outbox, Queue } from './outbox.ts'

const iso = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString())

export function shownAlert(
  alert: Alert,
  silence: Silence | undefined,
  outbox: Pick<Outbox, 'message' | 'queue'>,
  running: ConfigView,
): AlertShown {
  const { key: _, object, toldAt_ms: __, messages, endedAt, ...fields } = alert
  const isSilenced = endedAt === null && silence !== undefined
  return {
    ...fields,
    objectType: object.type,
    objectId: object.id,
    objectName: object.name,
    endedAt,
    state: endedAt !== null ? 'resolved' : isSilenced ? 'silenced' : 'firing',
    silenceId: isSilenced ? silence.id : null,
    deliveries: messages.flatMap((id) => {
      const kept = outbox.message(id)
      return kept === undefined ? [] : deliveriesOf(kept, outbox, running)
    }),
  }
}

function deliveriesOf({ message, targets }: Kept, outbox: Pick<Outbox, 'queue'>, running: ConfigView) {
  return Object.entries(targets).map(([targetId, { outcome, at, reason = null }]) => {
    const queue = outcome === 'waiting' ? outbox.queue(targetId) : undefined
    // Only the first waiting message was tried.
    const isFirst = queue?.waiting[0]?.message.id === message.id
    return {
      targetId,
      targetName: running.get('alertTargets', targetId)?.name ?? targetId,
      messageId: message.id,
      phase: message.phase,
      outcome,
      at,
      tries: isFirst ? (queue?.failures ?? 0) : 0,
      nextTry: iso(queue?.nextTry_ms),
      reason: queue?.lastError ?? reason,
    }
  })
}

export function deliveriesShown(
  targets: Iterable<AlertTarget>,
  outbox: Pick<Outbox, 'queue'>,
  now_ms: number,
): DeliveriesShown[] {
  return [...targets].map(({ id, name }) => {
    const queue = outbox.queue(id) ?? new Queue(0, now_ms)
    const { changedAt_ms, waiting, delivered, dropped, lastDeliveredAt, failures, lastError, nextTry_ms } = queue
    return {
      targetId: id,
      targetName: name,
      at: new Date(changedAt_ms).toISOString(),
      waiting: waiting.length,
      delivered,
      dropped,
      lastDeliveredAt,
      failures,
      lastError,
      nextTry: iso(nextTry_ms),
    }
  })
}
