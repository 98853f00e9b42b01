import type { AlertMessage, AlertTarget, Severity, ToldAlert } from '../../src/model/alerts.ts'
import { type SyslogAddress, SyslogConnection } from '../logs/syslog-connection.ts'
import { asciiJson } from '../logs/syslog-message.ts'
import { Failed, placeOf, type Way } from './attempt.ts'

const PORTS = { tls: 6514, tcp: 601 } as const
/** The facility of a machine's daemons. */
const FACILITY = 3
const SEVERITIES: Readonly<Record<Severity, number>> = { critical: 2, warning: 4, info: 6 }
const NOTICE = 5
/** A server that closes what it was given says so by then; syslog has no receipts. */
const LINGER_MS = 300

/** All messages over one connection: it takes a second before a server that does not want us has said so. */
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

/** RFC 5424 with the length before it; what is told is JSON of printable ASCII, so that it is one message. */
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

/** Resolves when they were handed over and the server has not hung up. */
function send(address: SyslogAddress, frames: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let [isReady, isSent] = [false, false]
    const connection = new SyslogConnection(address, {
      next: () => {
        if (!isSent) {
          isSent = true
          return { text: frames.join(''), messages: frames.length }
        }
        // It is asked for more when the first was taken.
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
