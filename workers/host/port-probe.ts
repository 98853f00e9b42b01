import { createServer } from 'node:net'
import { canonicalIp } from '../../src/base/ip-network.ts'
import type { Listener } from '../../src/drivers/host.ts'

const LOCAL_COLUMN = 3
const UNIT = /\.(?:service|scope)$/
/** Wildcard addresses as `ss` writes them; the first covers both families. */
const ANY: ReadonlySet<string> = new Set(['*', '0.0.0.0', '::'])

export const NOT_PERMITTED = 'Permission denied'

export const IN_USE = 'Address already in use'

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: IN_USE,
  EADDRNOTAVAIL: 'Cannot assign requested address',
  EACCES: NOT_PERMITTED,
}

/**
 * Returns why no program can listen there, by trying to. HAProxy would find out only at a reload, and then stop
 * listening everywhere for about a tenth of a second, in case it blocks itself: connections would be refused because of
 * a mistake in one frontend.
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

/** @param output the output of LISTENERS_ARGV: a line per socket. */
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

/** Returns the units whose sockets occupy this address. */
export function unitsInTheWay(listeners: readonly Listener[], ip: string, port: number): readonly string[] {
  const wanted = canonicalIp(ip)
  const isInTheWay = (other: Listener) =>
    other.port === port && (ANY.has(wanted) || ANY.has(other.ip) || canonicalIp(other.ip) === wanted)
  return [...new Set(listeners.filter(isInTheWay).map(({ unit }) => unit))]
}
