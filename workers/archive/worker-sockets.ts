import { parseSocketAddress } from '../../src/base/socket-address.ts'
import type { SocketTarget } from './messages.ts'

/**
 * Parses the answer to `show cli sockets`: the command sockets of a worker, without those that only its master can
 * reach.
 */
export function cliSockets(answer: string): readonly SocketTarget[] {
  const addresses = answer.split('\n').flatMap((line) => /^[a-z0-9]+@\S+/.exec(line)?.[0] ?? [])
  return addresses.map(parseSocketAddress).filter((address) => typeof address !== 'string')
}
