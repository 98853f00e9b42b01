import { canonicalIp } from '../../base/ip-network.ts'
import { FALLBACK_PROGRAM } from './paths.ts'
import type { Served } from './services.ts'

const FLAGS = { gate: '-g', masq: '-m', ipip: '-i' } as const

/** An address and port as ipvsadm reads and writes them. */
export const placeText = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)

/** The services of a frontend as ipvsadm names them, such as -t 192.0.2.10:80 or -f 1073741824. */
export function serviceWords({ frontend, marks, firstPort }: Served): readonly (readonly [string, string])[] {
  if (marks.length > 0) return marks.map((mark) => ['-f', String(mark)])
  return [[frontend.protocol === 'tcp' ? '-t' : '-u', placeText(frontend.ip, firstPort)]]
}

/** How ipvsadm writes the way in which packets are forwarded. */
export const forwardingFlag = ({ frontend }: Served): string => FLAGS[frontend.forwarding]

/** Where the fallback of a frontend is; undefined for none. Only address translation can change the port. */
export function fallbackPlace({ frontend, backend, marks, firstPort }: Served): string | undefined {
  const { fallback } = backend
  if (fallback === null) return undefined
  const port = frontend.forwarding === 'masq' ? fallback.port : marks.length > 0 ? 0 : firstPort
  return placeText(canonicalIp(fallback.ip), port)
}

/**
 * keepalived's own sorry_server would take drained real servers, and with them their connections, out of the kernel's
 * table; this one only comes and goes beside them.
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
