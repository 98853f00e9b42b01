/**
 * The outcome of a failed call. `unreachable`, `untrusted`, `no-leader`, `no-space`, `compacted`, `refused` and
 * `closed`: nothing was executed. `timeout` and `unreadable`: a read that was not answered in time, or not in the
 * format of etcd. `unknown-outcome`: a write that may have been executed, or may still be; only a check can tell.
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
  /** The gRPC code of the error, as etcd sent it. */
  readonly code?: number
  /** The reason in etcd's own words. */
  readonly said?: string
  /** For a watch: revisions before this one are gone. */
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
/** With one of these codes the request may have been executed, unless the message is more precise. */
const OPEN_CODES: ReadonlySet<number> = new Set(Object.values(CODE))

/**
 * Messages that decide, whatever the code. None of these calls was proposed to the members, or all of them refused it.
 */
const SAYINGS: readonly (readonly [said: RegExp, kind: EtcdErrorKind, message: string])[] = [
  [/database space exceeded/, 'no-space', 'it has no space left'],
  [/required revision has been compacted/, 'compacted', 'it has compacted that revision'],
  [/no leader|leader changed/, 'no-leader', 'it has no leader'],
  [/not supported for learner/, 'unreachable', 'it is a learner, which answers no requests yet'],
  [/not capable/, 'unreachable', 'it is not ready yet'],
  // The gateway is a client of its own member, which starts a moment later.
  [/connection error: desc/, 'unreachable', 'it is not ready yet'],
  [/unhealthy cluster/, 'refused', 'it refuses: unhealthy cluster'],
]

/** Matches only etcd's own messages: a parser's error quotes the request. */
const OWN_WORDS =
  /^(?:rpc error: code = \w+ desc = )?((?:etcdserver|mvcc|lease|membership|raft|context|transport|grpc): ?[^"]*|connection error: [^"]*|context \w+ ?\w*)/
const SAID_LENGTH_MAX = 200

/** Returns the error for etcd's code and message. */
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

/** Returns the error for a call that was sent and not answered. */
export function unanswered(isWrite: boolean, message: string, facts: EtcdErrorFacts = {}): EtcdError {
  return isWrite
    ? new EtcdError('unknown-outcome', `${message}; it is unknown whether the write was executed`, facts)
    : new EtcdError('timeout', message, facts)
}

/** Returns the error for an answer that is not etcd's. */
export function unreadable(isWrite: boolean, what: string): EtcdError {
  return isWrite ? unanswered(true, what) : new EtcdError('unreadable', what)
}

const REACHING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refuses connections',
  ENOTFOUND: 'its name is unknown',
  EAI_AGAIN: 'its name could not be resolved',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  ETIMEDOUT: 'its machine does not answer',
}
const CERTIFICATE_CODE = /^(?:ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_(?:CA|PURPOSE)|CRL_)/

/** The known facts about a failed connection. */
export interface Broken {
  readonly isWrite: boolean
  /** Whether the request may have been sent. */
  readonly isSent: boolean
  /** Whether the connection was used before, so that both sides had accepted each other. */
  readonly isProven: boolean
}

/** Returns the error for a failed connection, by its code. */
export function broken(code: string, { isWrite, isSent, isProven }: Broken): EtcdError {
  if (CERTIFICATE_CODE.test(code)) return new EtcdError('untrusted', `its certificate is not accepted (${code})`)
  // In TLS 1.3 a server refuses the client's certificate after the client's first bytes, which it does not read then.
  if (/ALERT/.test(code) && !isProven) return new EtcdError('untrusted', `it refused the TLS connection (${code})`)
  if (isSent) return lost(isWrite, `its connection broke (${code})`)
  return new EtcdError('unreachable', REACHING[code] ?? `it cannot be reached (${code})`)
}

/** Returns the error for a lost connection: a read goes to another member; the outcome of a write is unknown. */
export function lost(isWrite: boolean, message: string): EtcdError {
  return isWrite ? unanswered(true, message) : new EtcdError('unreachable', message)
}

/**
 * Kinds of errors that let the next member try, the most informative first: it becomes the kind of the combined error.
 */
const TELLING: readonly EtcdErrorKind[] = ['no-leader', 'timeout', 'unreadable', 'untrusted', 'unreachable']

/** Combines the members' errors, by address, into one. */
export function combined(failures: readonly (readonly [address: string, error: EtcdError])[]): EtcdError {
  const [first] = failures
  if (first !== undefined && failures.length === 1) return first[1]
  const telling = TELLING.map((kind) => failures.find(([, error]) => error.kind === kind)).find(Boolean) ?? first
  const each = failures.map(([address, { message }]) => `${address}: ${message}`)
  const message = `it does not answer at any address: ${each.join('; ')}`
  return new EtcdError(telling?.[1].kind ?? 'unreachable', message, telling?.[1].facts)
}

/** Whether other members may succeed where this one failed. */
export function isForAnother({ kind, facts: { said } }: EtcdError): boolean {
  return TELLING.includes(kind) || said === 'etcdserver: not leader'
}
