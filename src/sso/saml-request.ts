import { deflateRawSync } from 'node:zlib'

export interface RequestParts {
  readonly entityId: string
  readonly acsUrl: string
  readonly idpSsoUrl: string
  readonly requestId: string
  /** ISO 8601. */
  readonly at: string
}

/**
 * Returns the URL that begins a login at the identity provider: an AuthnRequest by HTTP-Redirect (SAML 2.0 bindings,
 * section 3.4.4). Built here and not by the library, which is kept out of the main thread, as anybody may request one.
 */
export function requestUrl({ entityId, acsUrl, idpSsoUrl, requestId, at }: RequestParts): string {
  const attributes = {
    'xmlns:samlp': 'urn:oasis:names:tc:SAML:2.0:protocol',
    ID: requestId,
    Version: '2.0',
    IssueInstant: at,
    ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
    Destination: idpSsoUrl,
    AssertionConsumerServiceURL: acsUrl,
  }
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${escaped(value)}"`)
  const issuer = `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${escaped(entityId)}</saml:Issuer>`
  const xml = `<samlp:AuthnRequest ${written.join(' ')}>${issuer}</samlp:AuthnRequest>`
  const url = new URL(idpSsoUrl)
  url.searchParams.set('SAMLRequest', deflateRawSync(xml).toString('base64'))
  return url.href
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (mark) => ENTITIES[mark] ?? '')
