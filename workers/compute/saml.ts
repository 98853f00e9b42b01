import type { Profile, SAML } from '@node-saml/node-saml'
import { type SamlOutline, samlOutline } from './saml-outline.ts'

/** Names and addresses of this service provider and its identity provider. */
export interface SamlParties {
  /** Entity id of this appliance. */
  readonly entityId: string
  /** Address to which the identity provider posts its answers. */
  readonly acsUrl: string
  readonly idpEntityId: string
  readonly idpSsoUrl: string
  /** PEM. */
  readonly idpCertificates: readonly string[]
  /** Attribute that holds the e-mail address; empty for the NameID. */
  readonly emailAttribute: string
}

export type SamlVerdict = { readonly email: string } | { readonly problem: string }

/** Tolerance between the clocks of two machines. */
const SKEW_MS = 60_000
/** An assertion is for a login that is in progress. */
const AGE_MS_MAX = 5 * 60_000
const RESPONSE_LENGTH_MAX = 200_000
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
/** SHA-1 is missing because such a signature may fit another text (NIST SP 800-131A: disallowed since 2013). */
const ALGORITHMS = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
])
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,189}$/

async function provider(parties: SamlParties, requestId: string): Promise<SAML> {
  const { SAML, ValidateInResponseTo } = await import('@node-saml/node-saml')
  return new SAML({
    issuer: parties.entityId,
    audience: parties.entityId,
    callbackUrl: parties.acsUrl,
    entryPoint: parties.idpSsoUrl,
    idpCert: [...parties.idpCertificates],
    identifierFormat: null,
    disableRequestedAuthnContext: true,
    // Only the assertion is read, so a signature around the whole answer, which some providers add, proves nothing
    // more.
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    acceptedClockSkewMs: SKEW_MS,
    maxAssertionAgeMs: AGE_MS_MAX,
    generateUniqueId: () => requestId,
    validateInResponseTo: ValidateInResponseTo.always,
    // The main thread knows which request this browser has sent, and accepts it once.
    cacheProvider: {
      saveAsync: async (_key, value) => ({ value, createdAt: Date.now() }),
      getAsync: async (key) => (key === requestId ? new Date().toISOString() : null),
      removeAsync: async (key) => key,
    },
  })
}

/** Returns the metadata of this service provider for the identity provider, as XML. */
export async function samlMetadataOf(parties: SamlParties): Promise<string> {
  // The document id has the type xs:ID: providers that validate metadata refuse an empty one.
  return (await provider(parties, '_metadata')).generateServiceProviderMetadata(null, null)
}

/** Returns the e-mail address that an answer vouches for; the answer must be to this very request. */
export async function judgeSamlResponse(
  parties: SamlParties,
  requestId: string,
  response: string,
): Promise<SamlVerdict> {
  // Decodes the answer as the library does.
  const xml = Buffer.from(response, 'base64').toString('utf8')
  if (xml.length > RESPONSE_LENGTH_MAX) return { problem: 'it is too long' }
  const outline = samlOutline(xml)
  if ('problem' in outline) return outline
  const problem = whyNotMeant(outline, parties)
  if (problem !== undefined) return { problem }
  if (!xml.includes('SignatureValue>')) return { problem: 'it has no signature' }
  if (!outline.algorithms.every((algorithm) => ALGORITHMS.has(algorithm)))
    return { problem: 'the identity provider must sign it with RSA and SHA-256 or SHA-512' }
  try {
    const judge = await provider(parties, requestId)
    const { profile } = await judge.validatePostResponseAsync({ SAMLResponse: response })
    return profile === null ? { problem: 'it contains no assertion' } : verdictOf(profile, parties, requestId)
  } catch (error) {
    return { problem: error instanceof Error ? error.message : 'it cannot be read' }
  }
}

/**
 * The parts of an answer around its assertion need not be signed; an honest provider sets them correctly (SAML 2.0 core
 * §3.2.2).
 */
function whyNotMeant({ destination, statusCodes }: SamlOutline, { acsUrl }: SamlParties): string | undefined {
  if (destination !== undefined && destination !== acsUrl) return 'it was sent to another service'
  const [code = '', ...more] = statusCodes
  if (code === SUCCESS && more.length === 0) return undefined
  return `the identity provider does not report success but ${/^[\w:.-]{1,100}$/.test(code) ? code : 'nothing known'}`
}

function verdictOf(profile: Profile, parties: SamlParties, requestId: string): SamlVerdict {
  const { idpEntityId, emailAttribute } = parties
  if (profile.issuer !== idpEntityId) return { problem: 'its issuer is not the configured identity provider' }
  const problem = confirmationProblem(profile, parties, requestId)
  if (problem !== undefined) return { problem }
  const found: unknown = emailAttribute === '' ? profile.nameID : profile[emailAttribute]
  const email: unknown = Array.isArray(found) && found.length === 1 ? found[0] : found
  if (typeof email === 'string' && EMAIL.test(email)) return { email }
  return {
    problem: `it has no e-mail in ${emailAttribute === '' ? 'its NameID' : `the attribute ${emailAttribute}`}`,
  }
}

/** Checks that the bearer of the assertion is its subject, here and for this request (SAML 2.0 profiles §4.1.4.2). */
function confirmationProblem(profile: Profile, { acsUrl }: SamlParties, requestId: string): string | undefined {
  const confirmations = inside(inside([profile.getAssertion?.()], 'Assertion', 'Subject'), 'SubjectConfirmation')
  const attributes = (elements: readonly unknown[]) => elements.map((element) => Object(Object(element).$))
  if (attributes(confirmations).some(({ Method }) => Method !== BEARER)) return 'it requires a proof other than bearer'
  const data = attributes(inside(confirmations, 'SubjectConfirmationData'))
  if (data.length === 0 || data.length < confirmations.length || data.some(({ Recipient }) => Recipient !== acsUrl)) {
    return 'it is meant for another service'
  }
  // The library accepts an assertion without InResponseTo, around which any answer could claim to be to this request.
  return data.some(({ InResponseTo }) => InResponseTo !== requestId)
    ? 'its InResponseTo is not this request'
    : undefined
}

/** Finds elements by path in the library's form of XML, where lists may stand for single elements. */
function inside(elements: readonly unknown[], ...path: readonly string[]): readonly unknown[] {
  return path.reduce<readonly unknown[]>(
    (found, name) =>
      found.flatMap((element) => {
        const inner: unknown = Object(element)[name]
        return Array.isArray(inner) ? inner : inner === undefined ? [] : [inner]
      }),
    elements,
  )
}
