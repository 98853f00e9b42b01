import { createServer } from 'node:net'
import { canonicalIp } from '../../src/base/ip-network.ts'
import type { Listener } from '../../src/drivers/host.ts'

const LOCAL_COLUMN = 3
const UNIT = /\.(?:service|scope)$/
/** As `ss` writes them; the first is that of both families. */
const ANY: ReadonlySet<string> = new Set(['*', '0.0.0.0', '::'])

export const NOT_PERMITTED = 'Permission denied'

export const IN_USE = 'Address already in use'

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: IN_USE,
  EADDRNOTAVAIL: 'Cannot assign requested address',
  EACCES: NOT_PERMITTED,
}

/**
 * Listens for a moment. HAProxy finds out at a reload only, and then stops listening everywhere for about a tenth of a
 * second to make sure that it is not in its own way: connections would be refused for a mistake in one frontend.
 */
export function portProblem(ip: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.on('error', (error) => {
      const code = 'code' in error ? String(error.code) : ''
      resolve(REASONS[code] ?? error.message)
    })
    server.listen({ host: ip, port, exclusive: true, ipv6Only: true }, () => server.close(() => resolve(undefined)))
  })
}

export const LISTENERS_ARGV = ['ss', '--no-header', '--listening', '--numeric', '--tcp', '--cgroup'] as const

/** @param output what LISTENERS_ARGV prints: a line for each socket. */
export function readListeners(output: string): readonly Listener[] {
  const lines = output.split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const columns = line.split(' ').filter((column) => column !== '')
    const local = columns[LOCAL_COLUMN] ?? ''
    const colon = local.lastIndexOf(':')
    const [ip = ''] = local.slice(0, colon).replaceAll(/[[\]]/g, '').split('%')
    const group = columns.find((column) => column.startsWith('cgroup:')) ?? ''
    const unit = group.split('/').findLast((part) => UNIT.test(part)) ?? ''
    return { ip, port: Number(local.slice(colon + 1)), unit }
  })
}

/** Units whose sockets keep others from this address. */
export function unitsInTheWay(listeners: readonly Listener[], ip: string, port: number): readonly string[] {
  const wanted = canonicalIp(ip)
  const isInTheWay = (other: Listener) =>
    other.port === port && (ANY.has(wanted) || ANY.has(other.ip) || canonicalIp(other.ip) === wanted)
  return [...new Set(listeners.filter(isInTheWay).map(({ unit }) => unit))]
}
