import { connect, isIP, type Socket } from 'node:net'
import { createTransport, type Transporter } from 'nodemailer'
import { cutText } from '../../src/base/cut-text.ts'
import { checkServerIdentity } from '../../src/base/server-identity.ts'
import type { AlertMessage, AlertTarget } from '../../src/model/alerts.ts'
import type { Found } from '../../src/base/outward-place.ts'
import { Failed, placeOf, reasonOf, type Way } from './attempt.ts'
import { linesOf, plain, titleOf } from './words.ts'

const PORTS = { tls: 465, starttls: 587, tcp: 25 } as const
const CONNECT_MS = 10_000
/** Some servers greet late, which programs that send spam do not wait for. */
const GREETING_MS = 30_000
/** How long it may take until the server has the whole text, beside the time for each recipient. A test ends then. */
const HAND_OVER_MS = 50_000
const RECIPIENT_MS = 10_000
/** A server may judge the text for ten minutes (RFC 5321, 4.5.3.2.6). If it took it all the same, it gets it twice. */
const JUDGE_MS = 600_000
const SUBJECT_MAX = 250

/** Sends all messages over one connection. */
export const mailWay: Way = async function* mailWay(sending) {
  const { target, messages, hostname } = sending
  const found = await placeOf(target.host ?? '', sending)
  const handOver = new HandOver(HAND_OVER_MS + (target.to ?? []).length * RECIPIENT_MS)
  const transport = createTransport(optionsOf(target, found, hostname, handOver))
  transport.use('stream', ({ message }, done) => {
    message.processFunc((text) => text.once('end', () => handOver.end()))
    done()
  })
  let { having } = sending
  try {
    for (const message of messages) {
      handOver.begin(message.phase === 'test')
      await send(transport, mailOf(message, target, hostname), having)
      having = []
      yield 1
    }
  } finally {
    handOver.close()
    transport.close()
  }
}

/** Ends the connection to a server that does not take a text in time. */
class HandOver {
  socket: Socket | undefined
  readonly #within_ms: number
  #timer: NodeJS.Timeout | undefined
  #isTest = false

  constructor(within_ms: number) {
    this.#within_ms = within_ms
  }

  begin(isTest: boolean): void {
    this.close()
    this.#isTest = isTest
    this.#timer = setTimeout(() => this.socket?.destroy(new Error('it does not answer')), this.#within_ms)
  }

  /** Call when the server has the text. Nobody waits for a test as long as a server may judge it. */
  end(): void {
    if (!this.#isTest) this.close()
  }

  close(): void {
    clearTimeout(this.#timer)
  }
}

type Mail = ReturnType<typeof mailOf>
interface Outcome {
  readonly accepted?: readonly unknown[]
  readonly rejectedErrors?: readonly Error[]
}

/**
 * Resolves when every recipient has the message. A server may accept it for some of them and refuse it for others;
 * those in `had` got it at an earlier try.
 */
async function send(transport: Transporter, mail: Mail, had: readonly string[]): Promise<void> {
  const to = mail.to.map(({ address }) => address).filter((address) => !had.includes(address))
  const envelope = { from: mail.from.address, to }
  const outcome: Outcome = await transport.sendMail({ ...mail, envelope }).catch((error: unknown) => {
    if (had.length === 0) throw failureOf(error)
    return Object(error)
  })
  const { rejectedErrors = [] } = outcome
  const having = [...had, ...(outcome.accepted ?? []).map(String)]
  if (to.every((address) => having.includes(address))) return
  if (rejectedErrors.length === 0) throw failureOf(outcome)
  const isFinal = rejectedErrors.every((error) => Number(Reflect.get(error, 'responseCode')) >= 500)
  throw new Failed('send', rejectedErrors.map(reasonOf).join('; '), { isFinal, having })
}

function optionsOf(
  { host = '', port, transport = 'tls', ...target }: AlertTarget,
  found: Found,
  name: string,
  handOver: HandOver,
) {
  const { username, password, caCertificate } = target
  const own = port ?? PORTS[transport]
  return {
    pool: true,
    maxConnections: 1,
    host,
    port: own,
    // Otherwise the library would resolve the name again.
    getSocket: (_: object, got: OnSocket) => (handOver.socket = open(host, own, found, got)),
    secure: transport === 'tls',
    requireTLS: transport === 'starttls',
    ignoreTLS: transport === 'tcp',
    name: /^[A-Za-z0-9.-]+$/.test(name) ? name : '[127.0.0.1]',
    ...(username === undefined ? {} : { auth: { user: username, pass: password ?? '' } }),
    tls: {
      minVersion: 'TLSv1.2',
      checkServerIdentity,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(caCertificate === undefined ? {} : { ca: caCertificate }),
    },
    connectionTimeout: GREETING_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: JUDGE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
}

type OnSocket = (error: Error | null, opened?: { readonly connection: Socket }) => void

function open(host: string, port: number, { lookup }: Found, got: OnSocket): Socket {
  const socket = connect({ host, port, lookup, timeout: CONNECT_MS })
  const end = (error: Error) => {
    socket.destroy()
    got(error)
  }
  const late = () => end(new Error('it does not answer'))
  socket.once('error', end)
  socket.once('timeout', late)
  socket.once('connect', () => {
    socket.setTimeout(0)
    socket.off('error', end)
    socket.off('timeout', late)
    got(null, { connection: socket })
  })
  return socket
}

/** The message id is the same for every attempt, so that mail servers can drop duplicates. */
function mailOf(message: AlertMessage, { from = '', to = [] }: AlertTarget, hostname: string) {
  const domain = from.slice(from.lastIndexOf('@') + 1) || hostname
  return {
    from: { name: 'Fulcrum', address: from },
    to: to.map((address) => ({ name: '', address })),
    subject: cutText(titleOf(message), SUBJECT_MAX),
    text: `${[plain(titleOf(message)), '', ...linesOf(message)].join('\n')}\n`,
    messageId: `<${message.id}@${domain}>`,
    date: new Date(message.at),
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Fulcrum-Message-Id': message.id },
    textEncoding: 'quoted-printable',
  } as const
}

/** Classifies an error of the library by the SMTP command at which it occurred. */
function failureOf(error: unknown): Failed {
  const fields = typeof error === 'object' && error !== null ? error : {}
  const [code, command, status]: readonly unknown[] = ['code', 'command', 'responseCode'].map((name) =>
    Reflect.get(fields, name),
  )
  if (code === 'EAUTH') return new Failed('authenticate', reasonOf(error))
  if (typeof status !== 'number') return new Failed('connect', reasonOf(error))
  // A refusal of the data is final. Earlier commands concern sender and recipients, which can be corrected.
  return new Failed('send', reasonOf(error), { isFinal: status >= 550 && command === 'DATA' })
}
