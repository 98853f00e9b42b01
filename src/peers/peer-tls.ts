import { constants, type X509Certificate } from 'node:crypto'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { CertificateError, readNodeCertificate } from '../cluster/node-certificate.ts'

/** What a node shows its peers, and what it takes from them. PEM. */
export interface PeerCredentials {
  readonly key: string
  readonly certificate: string
  /** The cluster's authorities for clients, the issuer first: port 9444 is for nodes, which is what they certify. */
  readonly ca: string
  /** Certificates that no longer count: a list of each authority. */
  readonly crls?: readonly string[]
}

/** What members speak: HTTP/2 and nothing else. */
export const PROTOCOLS: readonly string[] = ['h2']
/** What a node speaks that is no member yet. */
export const JOIN_PROTOCOL = 'fulcrum-join/1'
/** What a node speaks that is no member any more, and asks whether that is so. */
export const STANDING_PROTOCOL = 'fulcrum-standing/1'

export const secureOptionsOf = ({ key, certificate, ca, crls }: PeerCredentials): SecureContextOptions => ({
  key,
  // With its authority, which a node that joins knows by nothing but its pin. Each ends with a line break.
  cert: `${certificate}${ca}`,
  ca,
  ...(crls === undefined ? {} : { crl: [...crls] }),
  minVersion: 'TLSv1.3',
  // A session that is taken up again shows no certificate, so nobody would look whether it was revoked meanwhile.
  secureOptions: constants.SSL_OP_NO_TICKET,
})

export interface Shown {
  readonly nodeId: string
  readonly pin: string
}

/** The node that the other side's certificate names; undefined when it names none. Its issuer was verified before. */
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
