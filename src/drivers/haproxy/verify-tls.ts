import type { Certificate, CipherList } from '../../model/certificates.ts'
import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { Problem } from '../../model/problem.ts'
import { cipherListOf, isTls13, minTlsOf, portRanges, speaksTls } from './tls.ts'

/** Returns problems that would make every handshake of a frontend fail, although HAProxy's checker accepts them. */
export function tlsProblems(frontend: L7Frontend, view: ConfigView): readonly Problem[] {
  if (!speaksTls(frontend)) return []
  const problems: Problem[] = []
  if (portRanges(frontend).every(({ isTls }) => !isTls)) {
    const message = `uses its certificates on no port, because port 80 redirects: add a port such as 443, or remove the certificates`
    problems.push(about(frontend, 'ports', `Frontend ${frontend.name} ${message}`))
  }
  const certificates: Certificate[] = []
  for (const [index, id] of (frontend.certificates ?? []).entries()) {
    const certificate = view.get('certificates', id)
    if (certificate !== undefined) certificates.push(certificate)
    else problems.push(about(frontend, `certificates.${index}`, `There is no certificate ${id}`))
  }
  const list = cipherListOf(frontend, view)
  if (list !== undefined) problems.push(...suiteProblems(frontend, list, certificates))
  else if (typeof frontend.cipherListId === 'string') {
    problems.push(about(frontend, 'cipherListId', `There is no cipher list ${frontend.cipherListId}`))
  }
  return problems
}

function about({ id }: L7Frontend, field: string, message: string): Problem {
  return { section: 'l7Frontends', id, field, message }
}

function suiteProblems(
  frontend: L7Frontend,
  list: CipherList,
  certificates: readonly Certificate[],
): readonly Problem[] {
  const minTls = minTlsOf(frontend)
  const older = list.ciphers.filter((suite) => !isTls13(suite))
  const hasTls13 = older.length < list.ciphers.length
  const told = (message: string) => about(frontend, 'cipherListId', `Frontend ${frontend.name}: ${message}`)
  if (older.length === 0 && minTls !== '1.3') {
    return [
      told(
        `cipher list ${list.name} has only suites of TLS 1.3, but minTls is ${minTls}: set it to 1.3, or add suites of TLS 1.2`,
      ),
    ]
  }
  if (!hasTls13 && minTls === '1.3') {
    return [told(`cipher list ${list.name} has no suite of TLS 1.3, which minTls requires`)]
  }
  if (hasTls13) return []
  if (frontend.http3 === true) return [told(`cipher list ${list.name} has no suite of TLS 1.3, which http3 requires`)]
  return certificates
    .filter((certificate) => !older.some((suite) => goesWith(suite, certificate)))
    .map(({ name, facts }) =>
      told(`no suite of cipher list ${list.name} works with certificate ${name}, whose key type is ${facts.keyType}`),
    )
}

/** Suites before TLS 1.3 name the type of key that they need; without a name it is RSA. */
function goesWith(suite: string, { facts }: Certificate): boolean {
  return facts.keyType.startsWith('rsa') !== suite.includes('ECDSA')
}
