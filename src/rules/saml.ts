import { X509Certificate } from 'node:crypto'
import type { FieldProblem } from '../base/errors.ts'
import type { SamlConfig } from '../model/sign-in.ts'

export type SamlSettings = Omit<SamlConfig, 'id'>

/** Checks of single fields. */
export function isUrl(text: string, protocols: readonly string[]): boolean {
  const url = URL.parse(text)
  return url !== null && protocols.includes(url.protocol) && url.username === '' && url.password === ''
}

/**
 * Returns why browsers cannot reach the API at this URL, in words that follow the field; undefined if they can, or if
 * it is empty.
 */
export function whyNoBaseUrl(baseUrl: string): string | undefined {
  if (baseUrl === '' || (isUrl(baseUrl, ['https:']) && URL.parse(baseUrl)?.origin === baseUrl)) return undefined
  return 'must be https with a host and optionally a port, and nothing after it: https://lb.example.org:9443'
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
        'must be one certificate in PEM with an RSA key: other signatures are not supported',
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

/** Returns the missing fields that logins need. */
export function missingFor(next: SamlSettings): readonly FieldProblem[] {
  const needed = ['idpEntityId', 'idpSsoUrl', 'baseUrl', 'idpCertificates'] as const
  const missing = next.enabled ? needed.filter((field) => next[field].length === 0) : []
  const problems = missing.map((field): FieldProblem => ({
    field,
    code: 'INVALID_BODY',
    message: 'is required while single sign-on is enabled',
  }))
  return [...problems, ...missingBreakGlass(next)]
}

/** Requires enforced single sign-on to be enabled and to have a user who may log in with a password. */
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
      message: 'is required: without a user who may use a password, nobody could log in if the identity provider fails',
    })
  }
  return problems
}
