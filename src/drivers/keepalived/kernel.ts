import type { Served } from './services.ts'

/**
 * Kernel values by name. A drained real server gets no new connections of persistent clients either
 * (expire_quiescent_template), and connections to a removed one end instead of hanging (expire_nodest_conn): both in
 * the kernel's Documentation/networking/ipvs-sysctl. Address translation forwards packets.
 */
export function kernelValues(all: readonly Served[]): ReadonlyMap<string, string> {
  const values = new Map([
    ['net.ipv4.vs.expire_quiescent_template', '1'],
    ['net.ipv4.vs.expire_nodest_conn', '1'],
  ])
  const masqueraded = all.filter(({ frontend }) => frontend.forwarding === 'masq')
  const isIpv6 = ({ frontend }: Served): boolean => frontend.ip.includes(':')
  if (masqueraded.some((served) => !isIpv6(served))) values.set('net.ipv4.ip_forward', '1')
  if (masqueraded.some(isIpv6)) values.set('net.ipv6.conf.all.forwarding', '1')
  return values
}
