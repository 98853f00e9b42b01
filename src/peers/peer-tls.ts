import { constants, type X509Certificate } from 'node:crypto'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { CertificateError, readNodeCertificate } from '../cluster/node-certificate.ts'

/** The credentials that a node presents to its peers, and those that it accepts. In PEM. */
export interface PeerCredentials {
  readonly key: string
  readonly certificate: string
  /**
   * The cluster's authorities for clients, the issuer first: port 9444 is for nodes, which these authorities certify.
   */
  readonly ca: string
  /** The revocation list of each authority. */
  readonly crls?: readonly string[]
}

/** The protocol of members: HTTP/2 and nothing else. */
export const PROTOCOLS: readonly string[] = ['h2']
/** The protocol of a node that is not a member yet. */
export const JOIN_PROTOCOL = 'fulcrum-join/1'
/** The protocol of a node that asks whether it was removed. */
export const STANDING_PROTOCOL = 'fulcrum-standing/1'

export const secureOptionsOf = ({ key, certificate, ca, crls }: PeerCredentials): SecureContextOptions => ({
  key,
  // With its authority, of which a joining node knows only the pin. Each ends with a line break.
  cert: `${certificate}${ca}`,
  ca,
  ...(crls === undefined ? {} : { crl: [...crls] }),
  minVersion: 'TLSv1.3',
  // A resumed session presents no certificate, so a revocation in the meantime would go unnoticed.
  secureOptions: constants.SSL_OP_NO_TICKET,
})

export interface Shown {
  readonly nodeId: string
  readonly pin: string
}

/** Returns the node in the other side's certificate; undefined when it names none. Its issuer was verified before. */
export function shownBy(socket: TLSSocket): Shown | undefined {
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? undefined : shownIn(certificate)
}

export function shownIn(certificate: X509Certificate | Uint8Array): Shown | undefined {
  try {
    const { nodeId, pin } = readNodeCertificate(certificate)
    return { nodeId, pin }
  } catch (error) {
    if (error instanceof CertificateError) return undefined
    throw error
  }
}
