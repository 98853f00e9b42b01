import { createServer } from 'node:net'
import { canonicalIp } from '../../src/base/ip-network.ts'

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

/** Control groups of those that listen on this port of any address, as `ss --cgroup` tells them. */
export const listenersArgv = (port: number): readonly string[] => {
  const columns = ['--no-header', '--listening', '--numeric', '--tcp', '--cgroup']
  return ['ss', ...columns, `sport = :${port}`]
}

/**
 * Units of systemd, or sessions, whose sockets keep others from this address. Of one that the kernel does not tell the
 * name is empty.
 */
export function listeningUnits(output: string, ip: string): ReadonlySet<string> {
  const wanted = canonicalIp(ip)
  const units = new Set<string>()
  for (const line of output.split('\n').filter((text) => text !== '')) {
    const columns = line.split(' ').filter((column) => column !== '')
    const local = columns[LOCAL_COLUMN] ?? ''
    const [address = ''] = local.slice(0, local.lastIndexOf(':')).replaceAll(/[[\]]/g, '').split('%')
    if (!ANY.has(wanted) && !ANY.has(address) && canonicalIp(address) !== wanted) continue
    const group = columns.find((column) => column.startsWith('cgroup:')) ?? ''
    units.add(group.split('/').findLast((part) => UNIT.test(part)) ?? '')
  }
  return units
}
