import type { Profile, SAML } from '@node-saml/node-saml'

/** What this service provider and its identity provider are called, and where they are. */
export interface SamlParties {
  /** Entity id of this appliance. */
  readonly entityId: string
  /** Where the identity provider posts its answers. */
  readonly acsUrl: string
  readonly idpEntityId: string
  readonly idpSsoUrl: string
  /** PEM. */
  readonly idpCertificates: readonly string[]
  /** Attribute that holds the e-mail; empty for the NameID. */
  readonly emailAttribute: string
}

export type SamlVerdict = { readonly email: string } | { readonly problem: string }

/** Clocks of two machines. */
const SKEW_MS = 60_000
/** An assertion is for a login that somebody waits for. */
const AGE_MS_MAX = 5 * 60_000
/** Of elements and of attributes; answers have some hundred. */
const MARKS_MAX = 1200
const RESPONSE_LENGTH_MAX = 100_000
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
    // What is read is in the assertion; that some providers sign the answer around it as well adds nothing.
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    acceptedClockSkewMs: SKEW_MS,
    maxAssertionAgeMs: AGE_MS_MAX,
    generateUniqueId: () => requestId,
    validateInResponseTo: ValidateInResponseTo.always,
    // The main thread knows which request this browser has sent, and uses it up.
    cacheProvider: {
      saveAsync: async (_key, value) => ({ value, createdAt: Date.now() }),
      getAsync: async (key) => (key === requestId ? new Date().toISOString() : null),
      removeAsync: async (key) => key,
    },
  })
}

/** What the identity provider has to know of this service provider, XML. */
export async function samlMetadataOf(parties: SamlParties): Promise<string> {
  return (await provider(parties, '')).generateServiceProviderMetadata(null, null)
}

/** Whom an answer vouches for; it must be an answer to this very request. */
export async function judgeSamlResponse(
  parties: SamlParties,
  requestId: string,
  response: string,
): Promise<SamlVerdict> {
  const xml = Buffer.from(response, 'base64').toString('latin1')
  // No answer needs one, and every attack by entities does.
  if (xml.includes('<!DOCTYPE')) return { problem: 'it has a document type' }
  // The library's time grows with the square of all of these: 50,000 elements take a minute.
  if (['<', '>', '='].some((mark) => xml.split(mark).length > MARKS_MAX)) return { problem: 'it has too many parts' }
  if (xml.length > RESPONSE_LENGTH_MAX) return { problem: 'it is too long' }
  if (!xml.includes('SignatureValue>')) return { problem: 'it has no signature' }
  try {
    const judge = await provider(parties, requestId)
    const { profile } = await judge.validatePostResponseAsync({ SAMLResponse: response })
    return profile === null ? { problem: 'it holds no assertion' } : verdictOf(profile, parties)
  } catch (error) {
    return { problem: error instanceof Error ? error.message : 'it cannot be read' }
  }
}

function verdictOf(profile: Profile, { idpEntityId, acsUrl, emailAttribute }: SamlParties): SamlVerdict {
  if (profile.issuer !== idpEntityId) return { problem: 'its issuer is not the identity provider that is configured' }
  const recipients = recipientsOf(profile)
  if (recipients.length === 0 || recipients.some((recipient) => recipient !== acsUrl)) {
    return { problem: 'it is meant for another service' }
  }
  const found: unknown = emailAttribute === '' ? profile.nameID : profile[emailAttribute]
  const email: unknown = Array.isArray(found) && found.length === 1 ? found[0] : found
  if (typeof email === 'string' && EMAIL.test(email)) return { email }
  return {
    problem: `it names no e-mail in ${emailAttribute === '' ? 'its NameID' : `the attribute ${emailAttribute}`}`,
  }
}

/** Where the subject may be confirmed (SAML 2.0 profiles §4.1.4.2). */
function recipientsOf(profile: Profile): readonly unknown[] {
  const confirmations = inside(inside([profile.getAssertion?.()], 'Assertion', 'Subject'), 'SubjectConfirmation')
  return inside(confirmations, 'SubjectConfirmationData').map((data) => Object(Object(data).$).Recipient)
}

/** Elements by their path, in the form that the library reads XML into: lists everywhere, or none. */
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
