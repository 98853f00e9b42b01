import { buffer } from 'node:stream/consumers'
import { newId } from '../base/ids.ts'
import type { PeerAnswer, PeerHandler, PeerRequest } from '../peers/answering.ts'
import type { PeerClient } from '../peers/peer-client.ts'

/**
 * A question between nodes, sent as a request that no client can send: its path is not in the API. All nodes of one
 * version answer the same, and only members are asked.
 */
export interface Question {
  readonly nodeId: string
  /** Path, which identifies the kind of question. */
  readonly path: string
  /** Sent as JSON. */
  readonly body: unknown
  readonly timeout_ms: number
}

type Answerer = (question: unknown) => Promise<unknown> | undefined

/** The same for every asking node; no rights depend on it. */
const ASKER = { userId: 'fulcrum', email: 'fulcrum', sessionId: 'fulcrum', address: '::' } as const
const JSON_HEADERS = { 'content-type': 'application/json' } as const

/** Rejects when the node cannot be reached, or does not answer in time. */
export async function askNode(peers: Pick<PeerClient, 'forward'>, question: Question): Promise<unknown> {
  const { nodeId, path, body: asked, timeout_ms } = question
  const { status, body } = await peers.forward({
    nodeId,
    method: 'POST',
    path,
    query: '',
    headers: JSON_HEADERS,
    requestId: newId(),
    who: ASKER,
    body: JSON.stringify(asked),
    signal: AbortSignal.timeout(timeout_ms),
  })
  const text = await buffer(body)
  if (status !== 200) throw new Error(`the node answered ${status}`)
  return JSON.parse(text.toString())
}

/** Answers questions by their path, and passes all other requests to `handle`. */
export function answering(answerers: Readonly<Record<string, Answerer>>, handle: PeerHandler): PeerHandler {
  return (request) => {
    const answer = Object.hasOwn(answerers, request.path) ? answerers[request.path] : undefined
    return answer === undefined ? handle(request) : answered(request, answer)
  }
}

async function answered({ body }: PeerRequest, answer: Answerer): Promise<PeerAnswer> {
  const said = await answer(JSON.parse((await buffer(body)).toString()))
  // The node cannot tell at the moment: right after joining it takes part in nothing yet.
  if (said === undefined) return { status: 503, headers: {} }
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(said) }
}
