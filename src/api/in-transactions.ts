import type { Endpoint } from './endpoint.ts'

/**
 * Whether a request that names a transaction is answered by the node that holds it, whichever was asked: it is about
 * what is edited there, and not about the machine of a node.
 */
export const followsTransaction = (endpoint: Endpoint): boolean => {
  const { access, outsideTransactions, effect, path, answeredByAny } = endpoint
  if (access !== 'granted' || outsideTransactions || (effect !== 'read' && effect !== 'stage')) return false
  return answeredByAny !== undefined || !NAMES_NODE.test(path)
}

const NAMES_NODE = /\{applianceI[dD]\}/
