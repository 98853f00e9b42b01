import type { AlertMessage, AlertTarget, Severity, ToldAlert } from '../../src/model/alerts.ts'
import { type SyslogAddress, SyslogConnection } from '../logs/syslog-connection.ts'
import { asciiJson } from '../logs/syslog-message.ts'
import { Failed, placeOf, type Way } from './attempt.ts'

const PORTS = { tls: 6514, tcp: 601 } as const
/** Facility 3: system daemons. */
const FACILITY = 3
const SEVERITIES: Readonly<Record<Severity, number>> = { critical: 2, warning: 4, info: 6 }
const NOTICE = 5
/** How long to wait for a server that rejects messages to close the connection; syslog has no receipts. */
const LINGER_MS = 300

/** Sends all messages over one connection, because a server may take a second to reject us. */
export const syslogWay: Way = async function* syslogWay(sending) {
  const { target, messages, hostname, shown } = sending
  const { host = '', transport = 'tls', caCertificate } = target
  const { lookup } = await placeOf(host, sending)
  const tls = transport === 'tcp' ? undefined : { ca: caCertificate, own: shown }
  const place = { host, port: target.port ?? portOf(transport), tls, lookup }
  await send(
    place,
    messages.flatMap((message) => framesOf(message, hostname)),
  )
  yield messages.length
}

const portOf = (transport: NonNullable<AlertTarget['transport']>): number =>
  transport === 'tcp' ? PORTS.tcp : PORTS.tls

/** Octet-counted frames of RFC 5424. The text is JSON of printable ASCII, so that it stays one message. */
export function framesOf(message: AlertMessage, hostname: string): readonly string[] {
  const severity = message.phase === 'resolved' ? NOTICE : SEVERITIES[message.severity]
  const head = `<${FACILITY * 8 + severity}>1 ${message.at} ${hostname} fulcrum ${message.nodeId} alert - `
  return message.alerts.map((alert) => {
    const text = head + asciiJson(toldOf(message, alert))
    return `${text.length} ${text}`
  })
}

const toldOf = ({ id, phase, severity, rule, count }: AlertMessage, alert: ToldAlert) => ({
  messageId: id,
  phase,
  severity,
  rule: rule.name,
  ruleId: rule.id,
  count,
  ...alert,
})

/** Resolves when the frames were handed over and the server did not hang up. */
function send(address: SyslogAddress, frames: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let [isReady, isSent] = [false, false]
    const connection = new SyslogConnection(address, {
      next: () => {
        if (!isSent) {
          isSent = true
          return { text: frames.join(''), messages: frames.length }
        }
        // The connection asks for the next chunk once the first was written.
        setTimeout(() => void connection.close().then(resolve), LINGER_MS)
        return undefined
      },
      ready: () => (isReady = true),
      ended: (reason) => {
        if (reason !== '') reject(new Failed(isReady ? 'send' : 'connect', reason))
      },
    })
  })
}
