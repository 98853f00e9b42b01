import { X509Certificate } from 'node:crypto'
import type { FieldProblem } from '../base/errors.ts'
import type { SamlConfig } from '../model/sign-in.ts'

export type SamlSettings = Omit<SamlConfig, 'id'>

/** Rules about single fields. */
export function isUrl(text: string, protocols: readonly string[]): boolean {
  const url = URL.parse(text)
  return url !== null && protocols.includes(url.protocol) && url.username === '' && url.password === ''
}

/** Why browsers cannot reach the API there, as a sentence about the field; undefined where they may, or it is empty. */
export function whyNoBaseUrl(baseUrl: string): string | undefined {
  if (baseUrl === '' || (isUrl(baseUrl, ['https:']) && URL.parse(baseUrl)?.origin === baseUrl)) return undefined
  return 'must be https, a host and perhaps a port, without anything behind: https://lb.example.org:9443'
}

export function fieldProblems(next: Partial<SamlSettings>): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  const refuse = (field: string, message: string) => problems.push({ field, code: 'INVALID_BODY', message })
  const { idpSsoUrl = '', baseUrl = '', idpCertificates = [] } = next
  if (idpSsoUrl !== '' && !isUrl(idpSsoUrl, ['https:', 'http:'])) refuse('idpSsoUrl', 'must be a URL')
  const noBaseUrl = whyNoBaseUrl(baseUrl)
  if (noBaseUrl !== undefined) refuse('baseUrl', noBaseUrl)
  for (const [index, pem] of idpCertificates.entries()) {
    if (!isCertificate(pem))
      refuse(
        `idpCertificates.${index}`,
        'must be one certificate in PEM, with an RSA key: signatures of others are not judged',
      )
  }
  return problems
}

function isCertificate(pem: string): boolean {
  try {
    const { publicKey } = new X509Certificate(pem)
    return publicKey.asymmetricKeyType === 'rsa' && pem.match(/-----BEGIN /g)?.length === 1
  } catch {
    return false
  }
}

/** What a login needs is there before logins are sent that way. */
export function missingFor(next: SamlSettings): readonly FieldProblem[] {
  const needed = ['idpEntityId', 'idpSsoUrl', 'baseUrl', 'idpCertificates'] as const
  const missing = next.enabled ? needed.filter((field) => next[field].length === 0) : []
  const problems = missing.map((field): FieldProblem => ({
    field,
    code: 'INVALID_BODY',
    message: 'is required while single sign-on is on',
  }))
  return [...problems, ...missingBreakGlass(next)]
}

/** Whatever is enforced is on, and somebody may use a password. */
export function missingBreakGlass(
  next: Pick<SamlSettings, 'enabled' | 'enforced' | 'breakGlassUserId'>,
): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  if (!next.enforced) return problems
  if (!next.enabled) problems.push({ field: 'enforced', code: 'INVALID_BODY', message: 'needs enabled' })
  if (next.breakGlassUserId === '') {
    problems.push({
      field: 'breakGlassUserId',
      code: 'INVALID_BODY',
      message:
        'is required: without a user who may use a password, nobody could log in when the identity provider fails',
    })
  }
  return problems
}
