/**
 * What became of a call that failed. `unreachable`, `untrusted`, `no-leader`, `no-space`, `compacted`, `refused` and
 * `closed`: nothing was executed. `timeout` and `unreadable`: a read that was not answered in time, or not in the words
 * of etcd. `unknown-outcome`: a write that may have been executed, or may still be; only looking tells.
 */
export type EtcdErrorKind =
  | 'unreachable'
  | 'untrusted'
  | 'no-leader'
  | 'timeout'
  | 'unknown-outcome'
  | 'no-space'
  | 'compacted'
  | 'refused'
  | 'unreadable'
  | 'closed'

export interface EtcdErrorFacts {
  /** gRPC's number of the kind of error, as etcd sent it. */
  readonly code?: number
  /** In etcd's own words. */
  readonly said?: string
  /** For a watch: older revisions are gone. */
  readonly compactRevision?: number
}

/** The message is a sentence about etcd ("it …"). It holds no keys, no values and no secrets. */
export class EtcdError extends Error {
  readonly kind: EtcdErrorKind
  readonly facts: EtcdErrorFacts

  constructor(kind: EtcdErrorKind, message: string, facts: EtcdErrorFacts = {}) {
    super(message)
    this.name = 'EtcdError'
    this.kind = kind
    this.facts = facts
  }
}

const CODE = {
  cancelled: 1,
  unknown: 2,
  deadlineExceeded: 4,
  aborted: 10,
  internal: 13,
  unavailable: 14,
} as const
/** With one of these, what was asked for may have been done, unless the words say more. */
const OPEN_CODES: ReadonlySet<number> = new Set(Object.values(CODE))

/** Words that decide, whatever the code. None of these calls was proposed to the members, or it was refused by all. */
const SAYINGS: readonly (readonly [said: RegExp, kind: EtcdErrorKind, message: string])[] = [
  [/database space exceeded/, 'no-space', 'it has no space left'],
  [/required revision has been compacted/, 'compacted', 'it has compacted that revision'],
  [/no leader|leader changed/, 'no-leader', 'it has no leader'],
  [/not supported for learner/, 'unreachable', 'it is a learner, which serves nobody yet'],
  [/not capable/, 'unreachable', 'it is not ready yet'],
  // The gateway is a client of its own member, which starts a moment later.
  [/connection error: desc/, 'unreachable', 'it is not ready yet'],
  [/unhealthy cluster/, 'refused', 'it refuses: unhealthy cluster'],
]

/** Only what etcd itself words: a parser's complaint quotes what was sent. */
const OWN_WORDS =
  /^(?:rpc error: code = \w+ desc = )?((?:etcdserver|mvcc|lease|membership|raft|context|transport|grpc): ?[^"]*|connection error: [^"]*|context \w+ ?\w*)/
const SAID_LENGTH_MAX = 200

/** The error of an answer, by the code and the words of etcd. */
export function refusal(code: number, message: string, isWrite: boolean): EtcdError {
  const said = OWN_WORDS.exec(message)?.[1]?.slice(0, SAID_LENGTH_MAX)
  const facts = { code, ...(said === undefined ? {} : { said }) }
  const saying = SAYINGS.find(([words]) => words.test(message))
  if (saying !== undefined) return new EtcdError(saying[1], saying[2], facts)
  const why = said ?? `error ${code}`
  if (!OPEN_CODES.has(code)) return new EtcdError('refused', `it refuses: ${withoutOrigin(why)}`, facts)
  return unanswered(isWrite, `it gave up: ${withoutOrigin(why)}`, facts)
}

const withoutOrigin = (said: string) => said.replace(/^etcdserver: (?:mvcc: )?/, '')

/** A call that was sent and not answered. */
export function unanswered(isWrite: boolean, message: string, facts: EtcdErrorFacts = {}): EtcdError {
  return isWrite
    ? new EtcdError('unknown-outcome', `${message}; whether the write was executed is not known`, facts)
    : new EtcdError('timeout', message, facts)
}

/** Something came back that is not etcd's. */
export function unreadable(isWrite: boolean, what: string): EtcdError {
  return isWrite ? unanswered(true, what) : new EtcdError('unreadable', what)
}

const REACHING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refuses connections',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
  ETIMEDOUT: 'its machine does not answer',
}
const CERTIFICATE_CODE = /^(?:ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_(?:CA|PURPOSE)|CRL_)/

/** What is known of the connection that failed. */
export interface Broken {
  readonly isWrite: boolean
  /** The request may be on its way. */
  readonly isSent: boolean
  /** It was used before, so both sides had accepted each other. */
  readonly isProven: boolean
}

/** The error of a connection that failed, by its code. */
export function broken(code: string, { isWrite, isSent, isProven }: Broken): EtcdError {
  if (CERTIFICATE_CODE.test(code)) return new EtcdError('untrusted', `its certificate is not accepted (${code})`)
  // In TLS 1.3 a server refuses the client's certificate after the client's first bytes, which it does not read then.
  if (/ALERT/.test(code) && !isProven) return new EtcdError('untrusted', `it refused the connection's TLS (${code})`)
  if (isSent) return lost(isWrite, `its connection broke (${code})`)
  return new EtcdError('unreachable', REACHING[code] ?? `it cannot be reached (${code})`)
}

/** A read goes to another member; of a write nobody knows. */
export function lost(isWrite: boolean, message: string): EtcdError {
  return isWrite ? unanswered(true, message) : new EtcdError('unreachable', message)
}

/** The most telling comes first: one of these is the kind of a call that no member took. */
const TELLING: readonly EtcdErrorKind[] = ['no-leader', 'timeout', 'unreadable', 'untrusted', 'unreachable']

/** One error made of what each member said, by its address. */
export function combined(failures: readonly (readonly [address: string, error: EtcdError])[]): EtcdError {
  const [first] = failures
  if (first !== undefined && failures.length === 1) return first[1]
  const telling = TELLING.map((kind) => failures.find(([, error]) => error.kind === kind)).find(Boolean) ?? first
  const each = failures.map(([address, { message }]) => `${address}: ${message}`)
  const message = `it does not answer at any address: ${each.join('; ')}`
  return new EtcdError(telling?.[1].kind ?? 'unreachable', message, telling?.[1].facts)
}

/** The other members may do what this one cannot. */
export function isForAnother({ kind, facts: { said } }: EtcdError): boolean {
  return TELLING.includes(kind) || said === 'etcdserver: not leader'
}
