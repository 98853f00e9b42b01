import { X509Certificate } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { checkServerIdentity as checkAsNodeDoes, type PeerCertificate } from 'node:tls'

/**
 * Whether a certificate is that of the called host: for the option of this name of TLS clients that may be given an
 * address. Node 22.23.1 to 22.23.3 find an IPv6 address in no certificate (nodejs/node issue 64144).
 *
 * @param host a name, or an address without brackets.
 */
export function checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const problem = checkAsNodeDoes(host, certificate)
  if (problem === undefined || !isIPv6(host)) return problem
  return new X509Certificate(certificate.raw).checkIP(host) === undefined ? problem : undefined
}
