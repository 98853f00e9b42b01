import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Certificate, CipherList } from '../../model/certificates.ts'
import type { Problem } from '../../model/problem.ts'

const BLOCK = (label: string) =>
  String.raw`-----BEGIN ${label}-----\n(?:[A-Za-z0-9+/=]{1,76}\n)+-----END ${label}-----(?:\n|$)`
/** Nothing around it: HAProxy takes an empty line for the end of a certificate, and what follows for a command. */
const CHAIN = new RegExp(`^(?:${BLOCK('CERTIFICATE')})+$`)
const KEY = new RegExp(`^${BLOCK('PRIVATE KEY')}$`)
const EACH = new RegExp(BLOCK('CERTIFICATE'), 'g')

/** Records do not change, and reading keys takes its time. */
const known = new WeakMap<Certificate, readonly Problem[]>()

/** What a backup could bring and the API refuses: a certificate that cannot be read, or that is not of its key. */
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
  const message = 'its chain is not one of certificates in PEM'
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
      return isItsKey ? undefined : 'its private key is that of another'
    }
  } catch {
    // The words of the library could quote the key.
  }
  return 'its private key cannot be read'
}

/** Suites have names of several parts; words such as ALL and -ALL mean many at once. */
const SUITE = /^(TLS_[A-Z0-9_]+|[A-Z0-9]+(-[A-Z0-9]+)+)$/
/** Without encryption, without a certificate, or weakened for export. */
const WORTHLESS = /(^|-|_)NULL(-|_|$)|^(ADH|AECDH|EXP|EXP1024)-/

/** The same for the suites of a list: OpenSSL would take some words that are none. */
export function cipherListProblems({ id, name, ciphers }: CipherList): readonly Problem[] {
  return ciphers.flatMap((suite, index): readonly Problem[] => {
    const why = WORTHLESS.test(suite) ? 'protects nothing' : SUITE.test(suite) ? undefined : 'is no cipher suite'
    if (why === undefined) return []
    return [{ section: 'cipherLists', id, field: `ciphers.${index}`, message: `Cipher list ${name}: ${suite} ${why}` }]
  })
}
