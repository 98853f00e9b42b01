import snmp from 'net-snmp'
import type { AlertMessage, AlertTarget, Phase, Severity, ToldAlert } from '../../src/model/alerts.ts'
import type { Found } from '../../src/base/outward-place.ts'
import { Failed, placeOf, reasonOf, type Way } from './attempt.ts'
import { plain, titleOf } from './words.ts'

/** FULCRUM-MIB (see docs/FULCRUM-MIB.txt). */
const FULCRUM_OID = '1.3.6.1.4.1.8072.9999.9999.70'
const ALERT_OID = `${FULCRUM_OID}.1.5`
const NOTIFICATIONS: Readonly<Record<Phase, number>> = { firing: 1, repeated: 1, resolved: 2, test: 3 }
const PHASES: Readonly<Record<Phase, number>> = { firing: 1, repeated: 2, resolved: 3, test: 4 }
const SEVERITIES: Readonly<Record<Severity, number>> = { info: 1, warning: 2, critical: 3 }
const PORT = 162
const TEXT_MAX = 255
const ANSWER_WITHIN_MS = 3_000
const RETRIES = 2

/** Version 3 sends informs, which the manager acknowledges; version 2c sends traps, which are not acknowledged. */
export const snmpWay: Way = async function* snmpWay(sending) {
  const { target, messages } = sending
  const found = await placeOf(target.host ?? '', sending)
  const session = sessionTo(target, found)
  // One listener for the socket errors of all messages.
  const broken = new Promise<never>((_, reject) => {
    session.on('error', (error) => reject(new Failed('connect', reasonOf(error))))
  })
  try {
    for (const message of messages) {
      for (const alert of message.alerts) await Promise.race([tell(session, target, message, alert), broken])
      yield 1
    }
  } finally {
    session.close()
  }
}

function sessionTo({ version = '3', port = PORT, ...target }: AlertTarget, { address, family }: Found): snmp.Session {
  const transport = family === 6 ? 'udp6' : 'udp4'
  const options = { port, trapPort: port, transport, timeout: ANSWER_WITHIN_MS, retries: RETRIES } as const
  try {
    if (version === '2c')
      return snmp.createSession(address, target.community ?? '', { ...options, version: snmp.Version2c })
    return snmp.createV3Session(address, userOf(target), { ...options, version: snmp.Version3 })
  } catch (error) {
    throw new Failed('connect', reasonOf(error))
  }
}

/** AES-256 with keys derived as in Net-SNMP. */
function userOf(target: Omit<AlertTarget, 'version' | 'port'>): snmp.User {
  const { username = '', authAlgorithm = 'sha256', authPassphrase = '', privacyPassphrase } = target
  const authentic = { name: username, authProtocol: snmp.AuthProtocols[authAlgorithm], authKey: authPassphrase }
  if (privacyPassphrase === undefined) return { ...authentic, level: snmp.SecurityLevel.authNoPriv }
  const privProtocol = snmp.PrivProtocols[target.privacyAlgorithm === 'aes256' ? 'aes256b' : 'aes']
  return { ...authentic, level: snmp.SecurityLevel.authPriv, privProtocol, privKey: privacyPassphrase }
}

function tell(
  session: snmp.Session,
  { version = '3' }: AlertTarget,
  message: AlertMessage,
  alert: ToldAlert,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null) => {
      if (error === null) resolve()
      else reject(failureOf(error))
    }
    const oid = `${FULCRUM_OID}.0.${NOTIFICATIONS[message.phase]}`
    const varbinds = varbindsOf(message, alert)
    if (version === '2c') session.trap(oid, varbinds, { upTime: uptime() }, done)
    else session.inform(oid, varbinds, { upTime: uptime() }, done)
  })
}

/** Returns sysUpTime, which begins again after 497 days; net-snmp refuses larger numbers, and takes 0 for none. */
const uptime = (): number => Math.floor(process.uptime() * 100) % 2 ** 32 || 1

/** An agent that does not know the user answers with a report; an absent one does not answer. */
function failureOf(error: Error): Failed {
  const isUnknown = /user|digest|decrypt|security|auth/i.test(error.message)
  const isSilent = error.name === 'RequestTimedOutError'
  if (isSilent)
    return new Failed('send', 'It did not acknowledge the inform: no manager answers, or it does not know the user')
  return new Failed(isUnknown ? 'authenticate' : 'send', reasonOf(error))
}

function varbindsOf(message: AlertMessage, alert: ToldAlert): snmp.Varbind[] {
  const { id, phase, severity, rule, nodeId, count } = message
  const text = (number: number, value: string) => ({
    oid: `${ALERT_OID}.${number}.0`,
    type: snmp.ObjectType.OctetString,
    value: shortened(plain(value)),
  })
  const whole = (number: number, value: number) => ({
    oid: `${ALERT_OID}.${number}.0`,
    type: snmp.ObjectType.Integer,
    value,
  })
  return [
    text(1, id),
    whole(2, PHASES[phase]),
    whole(3, SEVERITIES[severity]),
    text(4, rule.name),
    text(5, alert.objectId),
    text(6, alert.objectName),
    text(7, alert.text || titleOf(message)),
    { oid: `${ALERT_OID}.8.0`, type: snmp.ObjectType.Gauge, value: count },
    text(9, nodeId),
  ]
}

/** Cuts the text to the permitted bytes, at a character boundary. */
function shortened(value: string): Buffer {
  const bytes = Buffer.from(value)
  let end = Math.min(bytes.length, TEXT_MAX)
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end)
}
