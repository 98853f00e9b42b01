import { setTimeout as sleep } from 'node:timers/promises'
import { REQUEST_HEADERS } from '../peers/carried.ts'
import type { Answer } from './envelope.ts'
import { type Incoming, keepHeaders } from './incoming.ts'

/** The log that the nodes of a cluster share. */
export interface SharedLog {
  /** Number of the last entry that this node has carried out. */
  readonly position: number
  /** Whether changes were possible when this node last checked. */
  readonly hasQuorum: boolean
}

const SEQUENCE = 'X-Fulcrum-Sequence'
const WAIT_MS_MAX = 1_000
const LOOK_EVERY_MS = 5
/** Requests that may wait at a time. Others are answered at once with the present state. */
const WAITING_MAX = 256
const AFTER_A_WAIT = [...REQUEST_HEADERS, 'authorization', 'cookie']

let waiting = 0

/**
 * Adds to each answer the number of log entries it includes, and lets a read that names a higher number wait for up to
 * a second: a client that changes something on one node can read it on another. Answers that are rendered once for
 * many, such as figures, have no number. Callers that `isKnown` rejects never wait: waiting costs more than a refusal.
 */
export function sequenced(
  log: SharedLog,
  incoming: Incoming,
  answer: (incoming: Incoming) => Answer | Promise<Answer>,
  isKnown: () => boolean,
): Answer | Promise<Answer> {
  const wanted = incoming.method === 'GET' ? Number(incoming.header('x-fulcrum-sequence')) : 0
  const waits = wanted > log.position && waiting < WAITING_MAX && isKnown()
  const given = waits ? reached(log, wanted, incoming, answer) : answer(incoming)
  return given instanceof Promise ? given.then((one) => told(log, one)) : told(log, given)
}

async function reached(
  log: SharedLog,
  wanted: number,
  incoming: Incoming,
  answer: (incoming: Incoming) => Answer | Promise<Answer>,
): Promise<Answer> {
  const { carried, isLocal, signal } = incoming
  const whose = { ...(carried && { carried }), ...(isLocal && { isLocal }) }
  const kept = { ...keepHeaders(incoming, AFTER_A_WAIT), ...whose, ...(signal && { signal }) }
  const end_ms = performance.now() + WAIT_MS_MAX
  waiting++
  try {
    while (log.position < wanted && performance.now() < end_ms) await sleep(LOOK_EVERY_MS)
  } finally {
    waiting--
  }
  return answer(kept)
}

function told(log: SharedLog, answer: Answer): Answer {
  if (answer.head !== undefined) return answer
  // An answer from another node has that node's number.
  const headers = { [SEQUENCE]: String(log.position), ...answer.headers }
  return { ...answer, headers: log.hasQuorum ? headers : { ...headers, 'X-Cluster': 'no-quorum' } }
}
