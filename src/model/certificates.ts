import { Type, type Static } from 'typebox'
import { closed, Id, Moment, Name, Owner } from './fields.ts'

const text = (description: string) => Type.String({ maxLength: 4096, description })

/** Facts from a certificate, read once when it was uploaded. */
export const CertificateFacts = closed({
  commonName: text('Common name of the subject; empty without one.'),
  organisation: text('Organisation of the subject; empty without one.'),
  country: text('Country of the subject, two letters; empty without one.'),
  subjectAlt: Type.Array(text('Host name or address.'), {
    maxItems: 10_000,
    description: 'Names the certificate is valid for.',
  }),
  validFrom: Moment('ISO 8601.'),
  validTo: Moment('ISO 8601.'),
  fingerprint: text('SHA-256 of the certificate, hexadecimal with colons.'),
  keyType: text('Type and size of the key, such as "rsa 2048" or "ec prime256v1".'),
})
export type CertificateFacts = Static<typeof CertificateFacts>

/** A certificate as stored: checked, in order, and with its key. */
export const Certificate = closed({
  id: Id,
  name: Name,
  chain: Type.String({
    maxLength: 262_144,
    description: 'PEM: the certificate, followed by its issuers in order.',
  }),
  privateKey: Type.String({ maxLength: 65_536, description: 'PEM of the key, PKCS #8 without a passphrase; secret.' }),
  facts: CertificateFacts,
  owner: Owner,
})
export type Certificate = Static<typeof Certificate>

/** A named choice of cipher suites, those of TLS 1.2 and 1.3 in one list. */
export const CipherList = closed({
  id: Id,
  name: Name,
  ciphers: Type.Array(Type.String({ pattern: '^[A-Z0-9_-]{1,64}$', description: 'OpenSSL name of a cipher suite.' }), {
    minItems: 1,
    maxItems: 256,
    uniqueItems: true,
    description: 'Cipher suites, in order of preference.',
  }),
  owner: Owner,
})
export type CipherList = Static<typeof CipherList>

/** An uploaded certificate: exactly one form. */
export type CertificateForm =
  | { readonly form: 'pem'; readonly pem: string }
  | { readonly form: 'pfx'; readonly pfx: string }
  | {
      readonly form: 'parts'
      readonly cert: string
      readonly privateKey: string
      readonly otherCerts: readonly string[]
    }

/** The input for reading an uploaded certificate. */
export interface CertificateUpload {
  readonly upload: CertificateForm
  /** Password of the PFX file, or of an encrypted key; '' for none. */
  readonly password: string
  /** Whether to accept a certificate that has expired or is not valid yet. */
  readonly force: boolean
  readonly now_ms: number
}

/** Codes are those of the error table. */
export interface CertificateProblem {
  readonly field: string
  readonly code: 'INVALID_BODY' | 'CERTIFICATE_EXPIRED' | 'KEY_MISMATCH' | 'PFX_PASSWORD' | 'PAYLOAD_TOO_LARGE'
  readonly message: string
}

/** The result of reading an uploaded certificate. */
export type CertificateRead =
  | {
      readonly certificate: Pick<Certificate, 'chain' | 'privateKey' | 'facts'>
      /** Warnings about an accepted certificate, as sentences. */
      readonly warnings: readonly string[]
    }
  | { readonly problems: readonly CertificateProblem[] }
