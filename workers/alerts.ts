/** The task of the pool for alerts: messages to one target, which may take its time. */
import type { Sending, Sent, TargetType } from '../src/model/alerts.ts'
import { withoutSecrets } from '../src/base/mask.ts'
import { Failed, type Way } from './alerts/attempt.ts'
import { mailWay } from './alerts/mail.ts'
import { secretsOf } from './alerts/secrets.ts'
import { snmpWay } from './alerts/snmp.ts'
import { syslogWay } from './alerts/syslog.ts'
import { webhookWay } from './alerts/webhook.ts'

const WAYS: Readonly<Record<TargetType, Way>> = {
  mail: mailWay,
  webhook: webhookWay,
  syslog: syslogWay,
  snmp: snmpWay,
}
const REASON_MAX = 500

/** Sends the messages in their order, up to the first that is not taken. */
export async function deliver(sending: Sending): Promise<Sent> {
  let taken = 0
  try {
    for await (const count of WAYS[sending.target.type](sending)) taken += count
    return { taken, failure: undefined }
  } catch (error) {
    const failed = error instanceof Failed ? error : new Failed('send', String(error))
    const { stage, message, retryAfter_s, isFinal } = failed
    // oxlint-disable-next-line no-control-regex -- what servers say ends up in logs and answers
    const said = withoutSecrets(message, secretsOf(sending.target)).replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    const reason = said.slice(0, REASON_MAX)
    return {
      taken,
      failure: {
        stage,
        reason,
        ...(retryAfter_s === undefined ? {} : { retryAfter_s }),
        ...(isFinal ? { isFinal } : {}),
      },
    }
  }
}
