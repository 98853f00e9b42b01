/** The task of the alert pool: messages to one target, which may be slow. */
import type { Sending, Sent, TargetType } from '../src/model/alerts.ts'
import { Failed, type Way } from './alerts/attempt.ts'
import { mailWay } from './alerts/mail.ts'
import { shownReason } from './alerts/secrets.ts'
import { snmpWay } from './alerts/snmp.ts'
import { syslogWay } from './alerts/syslog.ts'
import { webhookWay } from './alerts/webhook.ts'

const WAYS: Readonly<Record<TargetType, Way>> = {
  mail: mailWay,
  webhook: webhookWay,
  syslog: syslogWay,
  snmp: snmpWay,
}

/** What was accepted is noted at least this often, because a killed daemon sends it again. */
const NOTED_MS = 10_000

/** Sends the messages in order; stops at the first that is not accepted, or after some time. */
export async function deliver(sending: Sending): Promise<Sent> {
  let taken = 0
  const until_ms = performance.now() + NOTED_MS
  try {
    for await (const count of WAYS[sending.target.type](sending)) {
      taken += count
      if (performance.now() > until_ms) break
    }
    return { taken, failure: undefined }
  } catch (error) {
    const failed = error instanceof Failed ? error : new Failed('send', String(error))
    const { stage, message, retryAfter_s, isFinal, having } = failed
    const reason = shownReason(message, sending.target)
    return {
      taken,
      failure: {
        stage,
        reason,
        ...(retryAfter_s === undefined ? {} : { retryAfter_s }),
        ...(isFinal ? { isFinal } : {}),
        ...(having.length > 0 ? { having } : {}),
      },
    }
  }
}
