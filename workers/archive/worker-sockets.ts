import { parseSocketAddress } from '../../src/base/socket-address.ts'
import type { SocketTarget } from './messages.ts'

/**
 * The answer to `show cli sockets`: where a worker takes commands itself. Those that only its master can reach are left
 * out.
 */
export function cliSockets(answer: string): readonly SocketTarget[] {
  const addresses = answer.split('\n').flatMap((line) => /^[a-z0-9]+@\S+/.exec(line)?.[0] ?? [])
  return addresses.map(parseSocketAddress).filter((address) => typeof address !== 'string')
}
