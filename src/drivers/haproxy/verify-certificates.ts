import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Certificate, CipherList } from '../../model/certificates.ts'
import type { Problem } from '../../model/problem.ts'

const BLOCK = (label: string) =>
  String.raw`-----BEGIN ${label}-----\n(?:[A-Za-z0-9+/=]{1,76}\n)+-----END ${label}-----(?:\n|$)`
/**
 * A chain without any text around it: HAProxy reads an empty line as the end of a certificate, and the rest as a
 * command.
 */
const CHAIN = new RegExp(`^(?:${BLOCK('CERTIFICATE')})+$`)
const KEY = new RegExp(`^${BLOCK('PRIVATE KEY')}$`)
const EACH = new RegExp(BLOCK('CERTIFICATE'), 'g')

/** Cached, because records do not change, and parsing keys takes time. */
const known = new WeakMap<Certificate, readonly Problem[]>()

/**
 * Returns problems that the API refuses, but a backup could bring: a certificate that cannot be read, or does not match
 * its key.
 */
export function certificateProblems(certificate: Certificate): readonly Problem[] {
  const before = known.get(certificate)
  if (before !== undefined) return before
  const { id, name } = certificate
  const about = (field: string, message: string | undefined): readonly Problem[] =>
    message === undefined ? [] : [{ section: 'certificates', id, field, message: `Certificate ${name}: ${message}` }]
  const chain = about('chain', chainProblem(certificate))
  const problems = chain.length > 0 ? chain : about('privateKey', keyProblem(certificate))
  known.set(certificate, problems)
  return problems
}

function chainProblem({ chain }: Certificate): string | undefined {
  const message = 'its chain does not consist of certificates in PEM'
  if (!CHAIN.test(chain)) return message
  try {
    const links = chain.match(EACH)?.map((pem) => new X509Certificate(pem))
    return links === undefined ? message : undefined
  } catch {
    return message
  }
}

function keyProblem({ chain, privateKey }: Certificate): string | undefined {
  try {
    if (KEY.test(privateKey)) {
      const isItsKey = new X509Certificate(chain).checkPrivateKey(createPrivateKey(privateKey))
      return isItsKey ? undefined : 'its private key belongs to another certificate'
    }
  } catch {
    // The library's message could quote the key.
  }
  return 'its private key cannot be read'
}

/** Names of suites have several parts; words such as ALL and -ALL stand for many at once. */
const SUITE = /^(TLS_[A-Z0-9_]+|[A-Z0-9]+(-[A-Z0-9]+)+)$/
/** Suites without encryption, without a certificate, or weakened for export. */
const WORTHLESS = /(^|-|_)NULL(-|_|$)|^(ADH|AECDH|EXP|EXP1024)-/

/** Returns the problems of a cipher list: OpenSSL would accept some words that are no suites. */
export function cipherListProblems({ id, name, ciphers }: CipherList): readonly Problem[] {
  return ciphers.flatMap((suite, index): readonly Problem[] => {
    const why = WORTHLESS.test(suite) ? 'does not encrypt' : SUITE.test(suite) ? undefined : 'is not a cipher suite'
    if (why === undefined) return []
    return [{ section: 'cipherLists', id, field: `ciphers.${index}`, message: `Cipher list ${name}: ${suite} ${why}` }]
  })
}
