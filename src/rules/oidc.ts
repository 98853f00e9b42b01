import { type Static, Type } from 'typebox'
import { type FieldProblem, problemIn } from '../base/errors.ts'
import { MASK, unstored } from '../base/mask.ts'
import { closed, optional } from '../model/fields.ts'
import { OidcConfig } from '../model/sign-in.ts'
import { whyNoRoot } from './acme.ts'
import { isUrl, missingBreakGlass, whyNoBaseUrl } from './saml.ts'

/** The settings with all fields; earlier versions stored no groups. */
export type OidcSettings = Required<Omit<OidcConfig, 'id'>>

/** The settings if none are stored. */
export const NO_OIDC: OidcSettings = {
  enabled: false,
  enforced: false,
  issuer: '',
  clientId: '',
  clientSecret: '',
  baseUrl: '',
  scopes: ['openid', 'email'],
  emailClaim: 'email',
  caCertificate: '',
  breakGlassUserId: '',
  groupsClaim: null,
  groupMappings: [],
  denyUnmapped: true,
}

const { id: _, clientSecret, ...plain } = OidcConfig.properties

/** The fields of a change: absent fields keep their value. */
export const SentOidc = closed({
  ...optional(plain),
  clientSecret: Type.Optional(
    Type.Union([clientSecret, Type.Null()], {
      description:
        'Client secret from the provider. Omitted or ** keeps the stored one; empty or null clears it; a different issuer needs it again. Never returned.',
    }),
  ),
})
export type SentOidc = Static<typeof SentOidc>

/** Checks single fields. */
export function oidcProblems(sent: Partial<SentOidc>) {
  const { issuer = '', baseUrl = '', scopes, caCertificate = '', groupMappings = [] } = sent
  const problems: FieldProblem[] = []
  const noIssuer = issuer === '' ? undefined : whyNoIssuer(issuer)
  if (noIssuer !== undefined) problems.push(problemIn('issuer', noIssuer))
  const noBaseUrl = whyNoBaseUrl(baseUrl)
  if (noBaseUrl !== undefined) problems.push(problemIn('baseUrl', noBaseUrl))
  if (scopes !== undefined && !scopes.includes('openid')) problems.push(problemIn('scopes', 'needs openid'))
  const noRoot = caCertificate === '' ? undefined : whyNoRoot(caCertificate)
  if (noRoot !== undefined) problems.push(problemIn('caCertificate', noRoot))
  const groups = groupMappings.map(({ group }) => group)
  for (const [index, group] of groups.entries()) {
    if (groups.indexOf(group) < index) problems.push(problemIn(`groupMappings.${index}.group`, 'is already mapped'))
  }
  return problems
}

/** Returns why this is no issuer, by OpenID Connect Discovery 1.0, section 3. */
function whyNoIssuer(issuer: string): string | undefined {
  if (isUrl(issuer, ['https:']) && !/[?#\s]/.test(issuer)) return undefined
  return 'must be an https URL without a query or a fragment, exactly as the provider writes it'
}

/** Returns the missing fields that logins need, and the missing break-glass user. */
export function missingForOidc(next: Omit<OidcConfig, 'id'>): readonly FieldProblem[] {
  const needed = ['issuer', 'clientId', 'baseUrl'] as const
  const missing = next.enabled ? needed.filter((field) => next[field] === '') : []
  return [
    ...missing.map((field) => problemIn(field, 'is required while logins by OpenID Connect are enabled')),
    ...missingBreakGlass(next),
  ]
}

/**
 * Merges the sent fields into the stored ones, and returns all problems at once. The secret is kept for its issuer
 * only: a user who may change the settings must not be able to redirect it.
 */
export function mergedOidc({ clientSecret: sent, ...fields }: SentOidc, known: Omit<OidcConfig, 'id'>) {
  const stored: OidcSettings = { ...NO_OIDC, ...known }
  const next = { ...stored, ...fields }
  const isKept = sent === undefined || sent === MASK
  const settings: OidcSettings = { ...next, clientSecret: isKept ? stored.clientSecret : (sent ?? '') }
  const problems = [...oidcProblems(settings), ...missingForOidc(settings)]
  if (sent === MASK && stored.clientSecret === '') problems.push(unstored('clientSecret'))
  if (isKept && stored.clientSecret !== '' && next.issuer !== stored.issuer) {
    const message = 'was given for another issuer: send it again for this one, or clear it with null'
    problems.push(problemIn('clientSecret', message))
  }
  return { settings, problems }
}
