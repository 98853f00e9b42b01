import type { Endpoint } from '../api/endpoint.ts'
import { followsTransaction } from '../api/in-transactions.ts'
import type { HeldElsewhere } from '../context/staging.ts'
import type { Asked } from './admission.ts'
import { JSON_TYPE } from './envelope.ts'
import type { Incoming } from './incoming.ts'
import type { Match, NoMatch } from './router.ts'

/**
 * Requests that concern the open transaction are answered by the node that holds it; this file determines which they
 * are.
 */

export interface TransactionsElsewhere {
  /** Undefined if none is open, or this node holds it. */
  readonly elsewhere: HeldElsewhere | undefined
}

/** Returns the node that holds the transaction, if the request is to be answered there. */
export function holderOf(held: HeldElsewhere, { route, incoming, params }: Asked): string | undefined {
  const { endpoint } = route
  if (endpoint.transactionIn === 'path') {
    // If that node is away, the others answer what they know, and the user who opened the transaction can end it.
    const isAbout = (params['id'] ?? held.id) === held.id
    return isAbout && held.isReachable ? held.nodeId : undefined
  }
  return followsTransaction(endpoint) && incoming.header('x-transaction-id') === held.id ? held.nodeId : undefined
}

/** Does the same for an endpoint whose body names the transaction. */
export function holderNamedIn(
  body: unknown,
  { transactionIn }: Endpoint,
  { carried }: Incoming,
  transactions: TransactionsElsewhere | undefined,
): string | undefined {
  if (transactionIn !== 'body' || carried !== undefined) return undefined
  const held = transactions?.elsewhere
  return held !== undefined && Reflect.get(Object(body), 'transactionId') === held.id ? held.nodeId : undefined
}

/** Whether nodes forward such a request to each other because of a transaction. */
export const isOfTransaction = (found: Match | NoMatch, transactionId: string | undefined): boolean =>
  'route' in found &&
  (found.route.endpoint.transactionIn !== undefined ||
    (transactionId !== undefined && followsTransaction(found.route.endpoint)))

/** Returns the request with the body that was read, for forwarding. */
export function withBody(asked: Asked, body: unknown): Asked {
  const { incoming } = asked
  const raw = Buffer.from(JSON.stringify(body))
  const own = new Map([
    ['content-type', JSON_TYPE],
    ['content-length', String(raw.length)],
  ])
  const header = (name: string) => own.get(name) ?? incoming.header(name)
  return { ...asked, incoming: { ...incoming, header, readBody: async () => raw } }
}
