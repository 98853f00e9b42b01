import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import type { Test } from 'tap'
import { SignedXml } from 'xml-crypto'
import { temporaryFolder } from '../fixtures/folder.ts'

export const IDP = 'https://idp.example.test/metadata'
const SSO_URL = 'https://idp.example.test/sso'
export const BASE_URL = 'https://lb.example.test:9443'
const entityIdOf = (baseUrl: string) => `${baseUrl}/api/v1/saml/metadata`
const acsUrlOf = (baseUrl: string) => `${baseUrl}/api/v1/saml/acs`

export interface Claims {
  readonly inResponseTo: string
  /** Address of the appliance. */
  readonly baseUrl?: string
  readonly email?: string
  readonly issuer?: string
  readonly audience?: string
  readonly recipient?: string
  readonly notBefore_s?: number
  readonly notOnOrAfter_s?: number
  readonly attributes?: Readonly<Record<string, readonly string[]>>
  readonly status?: string
}

const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()

function attributesOf(attributes: Claims['attributes']): string {
  const all = Object.entries(attributes ?? {}).map(([name, values]) => {
    const inner = values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')
    return `<saml:Attribute Name="${name}">${inner}</saml:Attribute>`
  })
  return all.length === 0 ? '' : `<saml:AttributeStatement>${all.join('')}</saml:AttributeStatement>`
}

export function assertionOf(claims: Claims, id = '_assertion'): string {
  const { inResponseTo, email = 'jane@example.org', issuer = IDP, baseUrl = BASE_URL } = claims
  const { audience = entityIdOf(baseUrl), recipient = acsUrlOf(baseUrl) } = claims
  const [before, after] = [at(claims.notBefore_s ?? -5), at(claims.notOnOrAfter_s ?? 120)]
  const data = `InResponseTo="${inResponseTo}" Recipient="${recipient}" NotOnOrAfter="${after}"`
  return `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" Version="2.0" IssueInstant="${at(0)}"><saml:Issuer>${issuer}</saml:Issuer><saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">${email}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData ${data}/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${before}" NotOnOrAfter="${after}"><saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="${at(0)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>${attributesOf(claims.attributes)}</saml:Assertion>`
}

export function responseAround(assertion: string, claims: Claims): string {
  const { inResponseTo, issuer = IDP, status = SUCCESS, baseUrl = BASE_URL } = claims
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_response" Version="2.0" IssueInstant="${at(0)}" Destination="${acsUrlOf(baseUrl)}" InResponseTo="${inResponseTo}"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="${status}"/></samlp:Status>${assertion}</samlp:Response>`
}

const RSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
const SHA256 = 'http://www.w3.org/2001/04/xmlenc#sha256'

/** An identity provider for tests: it makes any assertion, and signs it. */
export async function samlProvider(test: Test) {
  const folder = temporaryFolder(test, 'idp')
  const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const files = ['-keyout', keyFile, '-out', certificateFile]
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=idp', '-days', '2', ...files],
    {
      stdio: 'ignore',
    },
  )
  const privateKey = readFileSync(keyFile, 'utf8')
  const certificate = readFileSync(certificateFile, 'utf8')

  const signed = (xml: string, element = 'Assertion', { algorithm = RSA_SHA256, digest = SHA256 } = {}) => {
    const signer = new SignedXml({
      privateKey,
      signatureAlgorithm: algorithm,
      canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
    })
    const path = `//*[local-name(.)='${element}']`
    signer.addReference({
      xpath: path,
      digestAlgorithm: digest,
      transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', 'http://www.w3.org/2001/10/xml-exc-c14n#'],
    })
    signer.computeSignature(xml, { location: { reference: `${path}/*[local-name(.)='Issuer']`, action: 'after' } })
    return signer.getSignedXml()
  }
  return {
    certificate,
    signed,
    config: {
      enabled: true,
      enforced: false,
      idpEntityId: IDP,
      idpSsoUrl: SSO_URL,
      idpCertificates: [certificate],
      baseUrl: BASE_URL,
      emailAttribute: '',
      breakGlassUserId: '',
    },
    parties: {
      entityId: entityIdOf(BASE_URL),
      acsUrl: acsUrlOf(BASE_URL),
      idpEntityId: IDP,
      idpSsoUrl: SSO_URL,
      idpCertificates: [certificate],
      emailAttribute: '',
    },
    /** The posted form value, base64. */
    response: (claims: Claims) => encoded(responseAround(signed(assertionOf(claims)), claims)),
  }
}

export const encoded = (xml: string) => Buffer.from(xml).toString('base64')

/** The id of the request with which a browser is redirected. */
export function requestIdOf(location: string): string {
  const request = new URL(location).searchParams.get('SAMLRequest') ?? ''
  return / ID="([^"]+)"/.exec(inflateRawSync(Buffer.from(request, 'base64')).toString())?.[1] ?? ''
}
