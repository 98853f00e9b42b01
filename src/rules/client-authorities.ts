import { X509Certificate } from 'node:crypto'
import { PEM_CERTIFICATES } from '../base/certificate-summary.ts'
import type { L7Frontend } from '../model/layer7.ts'

/** Cached, because records do not change and parsing certificates takes time. */
const known = new WeakMap<L7Frontend, readonly X509Certificate[]>()

/** Returns the certificates by which clients are verified; rules report those that cannot be read. */
export function clientAuthoritiesOf(frontend: L7Frontend): readonly X509Certificate[] {
  const { enabled, clientVerify = 'none', clientCa = '' } = frontend
  if (!enabled || clientVerify === 'none') return []
  const before = known.get(frontend)
  if (before !== undefined) return before
  const found = clientCa.match(PEM_CERTIFICATES)?.flatMap((pem) => certificateIn(pem) ?? []) ?? []
  known.set(frontend, found)
  return found
}

/** Returns those whose end causes the refusal of clients: of each authority, the certificate that ends last. */
export function neededAuthoritiesOf(frontend: L7Frontend): readonly X509Certificate[] {
  const all = clientAuthoritiesOf(frontend)
  return all.filter((one) => !all.some((other) => isSameAuthority(other, one) && endOf(other) > endOf(one)))
}

function certificateIn(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** Whether both are certificates of one authority, which may be renewed or cross-signed. */
export const isSameAuthority = (other: X509Certificate, one: X509Certificate): boolean =>
  other.subject === one.subject && other.publicKey.equals(one.publicKey)

const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo)

/** Returns the name by which people know an authority. */
export const nameOf = (subject: string): string =>
  subject.split('\n').find((line) => line.startsWith('CN=')) ?? subject.replaceAll('\n', ', ')
