import type { Endpoint } from './endpoint.ts'

/**
 * Returns whether a request in a transaction is answered by the node that holds the transaction, whichever node
 * receives it: it concerns the transaction's edits, and not a node's machine.
 */
export const followsTransaction = (endpoint: Endpoint): boolean => {
  const { access, outsideTransactions, effect, path, answeredByAny } = endpoint
  if (access !== 'granted' || outsideTransactions || (effect !== 'read' && effect !== 'stage')) return false
  return answeredByAny !== undefined || !NAMES_NODE.test(path)
}

const NAMES_NODE = /\{applianceI[dD]\}/
