import { canonicalIp } from '../../base/ip-network.ts'
import { FALLBACK_PROGRAM } from './paths.ts'
import type { Served } from './services.ts'

const FLAGS = { gate: '-g', masq: '-m', ipip: '-i' } as const

/** Formats an address and port as ipvsadm reads and writes them. */
export const placeText = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)

/** Returns the services of a frontend as ipvsadm names them, such as -t 192.0.2.10:80 or -f 1073741824. */
export function serviceWords({ frontend, marks, firstPort }: Served): readonly (readonly [string, string])[] {
  if (marks.length > 0) return marks.map((mark) => ['-f', String(mark)])
  return [[frontend.protocol === 'tcp' ? '-t' : '-u', placeText(frontend.ip, firstPort)]]
}

/** Returns ipvsadm's flag of the forwarding method. */
export const forwardingFlag = ({ frontend }: Served): string => FLAGS[frontend.forwarding]

/** Returns the address of a frontend's fallback; undefined for none. Only address translation can change the port. */
export function fallbackPlace({ frontend, backend, marks, firstPort }: Served): string | undefined {
  const { fallback } = backend
  if (fallback === null) return undefined
  const port = frontend.forwarding === 'masq' ? fallback.port : marks.length > 0 ? 0 : firstPort
  return placeText(canonicalIp(fallback.ip), port)
}

/**
 * keepalived's own sorry_server would remove drained real servers, and their connections, from the kernel's table; this
 * fallback is only added beside them.
 */
export function fallbackCommand(served: Served, verb: 'add' | 'remove' | 'settle'): readonly string[] {
  const family = served.marks.length > 0 && served.frontend.ip.includes(':') ? ['-6'] : []
  return [
    FALLBACK_PROGRAM,
    verb,
    fallbackPlace(served) ?? '',
    forwardingFlag(served),
    ...serviceWords(served).flatMap(([flag, service]) => [flag, service, ...family]),
  ]
}
