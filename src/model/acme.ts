import { Type, type Static } from 'typebox'
import { closed, Id, idOf, Line, Name, refersTo } from './fields.ts'
import { ParameterValues, SecretValues } from './health-check.ts'

/** Port on which a CA fetches the answers of HTTP-01. */
export const HTTP_PORT = 80
/** Port on which a CA makes the handshakes of TLS-ALPN-01. */
export const HTTPS_PORT = 443

const Secret = (description: string) => Type.String({ maxLength: 65_536, description: `${description} Secret.` })

/** An account with a CA that speaks ACME (RFC 8555). */
export const AcmeAccount = closed({
  id: Id,
  name: Name,
  directoryUrl: Type.String({
    maxLength: 2048,
    pattern: '^https://[^\\s@#]+$',
    description: 'Directory URL of the CA; https only.',
  }),
  contact: Type.Array(
    Type.String({
      maxLength: 320,
      pattern: '^[^\\s@,;?%:<>"]+@[A-Za-z0-9.-]+$',
      description: 'E-mail address.',
    }),
    { maxItems: 10, uniqueItems: true, description: 'E-mail addresses for messages from the CA.' },
  ),
  termsAgreed: Type.Literal(true, {
    description: 'Agreement to the terms of the CA; required for an account.',
  }),
  externalAccountBinding: Type.Optional(
    closed(
      {
        keyId: Line(256, 'Id of the key, issued by the CA.'),
        hmacKey: Type.String({
          minLength: 1,
          maxLength: 1024,
          pattern: '^[A-Za-z0-9_-]+={0,2}$',
          description: 'The key, base64url. Secret.',
        }),
      },
      'Links the account to an existing customer account at the CA. Secret.',
    ),
  ),
  caCertificate: Type.Optional(
    Type.String({
      maxLength: 65_536,
      description: 'PEM of the root certificate that the directory must chain to; if omitted, the roots of the system.',
    }),
  ),
  httpPort: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description:
        'Port of this appliance that receives requests to port 80, if a device in front forwards them; default 80.',
    }),
  ),
  tlsPort: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description:
        'Port of this appliance that receives connections to port 443, if a device in front forwards them; default 443.',
    }),
  ),
  privateKey: Secret('PEM of the account key.'),
})
export type AcmeAccount = Static<typeof AcmeAccount>

export const KEY_TYPES = ['ec256', 'ec384', 'rsa2048', 'rsa3072', 'rsa4096'] as const
export const CHALLENGES = ['http-01', 'tls-alpn-01', 'dns-01'] as const

/** The answer to a challenge that is not HTTP-01, at the name where the CA looks for it. */
export const AcmeAnswer = closed({
  name: Type.String({ maxLength: 270, description: 'Name in the handshake, or of the TXT record.' }),
  value: Type.String({ maxLength: 64, description: 'SHA-256 of the key authorization, base64url.' }),
})
export type AcmeAnswer = Static<typeof AcmeAnswer>

/** The progress of an order: stored before each step, so that the next node or start continues from there. */
export const AcmeProgress = closed({
  of: Type.String({
    maxLength: 64,
    description: 'Digest of the ordered content: the progress is valid for this order only.',
  }),
  orderUrl: Type.Optional(Type.String({ maxLength: 4096, description: 'URL of the order in progress.' })),
  accountUrl: Type.Optional(Type.String({ maxLength: 4096, description: 'URL of the account at the CA.' })),
  answers: Type.Optional(
    Type.Array(AcmeAnswer, { maxItems: 100, description: 'Answers that the CA will find at the names of the order.' }),
  ),
  presentedAt_ms: Type.Optional(
    Type.Number({ description: 'When the script had created the DNS records. Milliseconds since 1970.' }),
  ),
  isVisible: Type.Optional(Type.Literal(true, { description: 'The DNS records were visible at the name servers.' })),
  leftovers: Type.Optional(
    Type.Array(AcmeAnswer, { maxItems: 1_000, description: 'DNS records of finished orders, still to be removed.' }),
  ),
  privateKey: Type.Optional(Secret('PEM of the key of the ordered certificate.')),
  failures: Type.Optional(Type.Integer({ minimum: 1, description: 'Consecutive failures.' })),
  failedAt_ms: Type.Optional(Type.Number({ description: 'Last failure. Milliseconds since 1970.' })),
  wait_s: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Seconds between the last failure and the next attempt.' }),
  ),
  lastError: Type.Optional(Type.String({ maxLength: 4096, description: 'Reason of the last failure.' })),
  issued: Type.Optional(Type.String({ maxLength: 256, description: 'Fingerprint of the certificate issued last.' })),
  issuedAt_ms: Type.Optional(Type.Number({ description: 'Last issuance. Milliseconds since 1970.' })),
  asked: Type.Optional(Type.Literal(true, { description: 'A user has requested immediate renewal.' })),
})
export type AcmeProgress = Static<typeof AcmeProgress>

/** How DNS records are created, and when a CA may look at them. */
export const DnsChallenge = closed(
  {
    scriptId: refersTo(idOf('Script of /healthchecks with service dns-01.'), 'healthChecks'),
    parameters: Type.Optional(ParameterValues),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 60,
        description: 'Timeout of one call of the script, in seconds; default 30.',
      }),
    ),
    delay: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600,
        description: 'Seconds between creating the records and the first check of them; default 0.',
      }),
    ),
    visibleWithin: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600,
        description:
          'Seconds after the delay within which all name servers must return the records; default 120. 0: name servers are not queried.',
      }),
    ),
    nameServers: Type.Optional(
      Type.Array(
        Type.String({
          maxLength: 64,
          description: 'Address, optionally with a port: 192.0.2.53, [2001:db8::53]:5353.',
        }),
        {
          maxItems: 8,
          uniqueItems: true,
          description: 'Name servers to query; if omitted, those of the zone.',
        },
      ),
    ),
  },
  'For dns-01: the script that creates the records, and how long to wait for them.',
  'DnsChallenge',
)
export type DnsChallenge = Static<typeof DnsChallenge>

/** A certificate that a CA issues and that is renewed. */
export const AcmeOrder = closed({
  id: Id,
  name: Name,
  accountId: refersTo(idOf('ACME account of the order.'), 'acmeAccounts'),
  names: Type.Array(
    Type.String({
      maxLength: 253,
      pattern: '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
      description:
        'DNS name in lower case; internationalised names in their xn-- form. *.example.org with dns-01 only.',
    }),
    { minItems: 1, maxItems: 100, uniqueItems: true, description: 'Names in the certificate.' },
  ),
  challenge: Type.Enum([...CHALLENGES], {
    description:
      'How control of the names is proved to the CA. http-01: over plain HTTP, through the frontend with port 80. tls-alpn-01: in a special TLS handshake, through the frontend with port 443. dns-01: in TXT records, created by a script.',
  }),
  keyType: Type.Enum([...KEY_TYPES], { description: 'Type of the certificate key; each certificate has a new key.' }),
  certificateId: refersTo(idOf('Certificate that the issued one replaces.'), 'certificates'),
  dns: Type.Optional(DnsChallenge),
  secrets: Type.Optional(SecretValues),
  progress: Type.Optional(AcmeProgress),
})
export type AcmeOrder = Static<typeof AcmeOrder>

/** The input of one step of an order. */
export interface AcmeStep extends Pick<AcmeOrder, 'names' | 'challenge' | 'keyType'> {
  readonly account: AcmeAccount
  readonly progress: Pick<AcmeProgress, 'orderUrl' | 'accountUrl' | 'answers' | 'privateKey'>
  /** Whether the directory may be on this machine. */
  readonly allowsLoopback: boolean
}

/** The outcome of a step. */
export type AcmeStepped =
  | { readonly is: 'ordered'; readonly orderUrl: string; readonly accountUrl: string }
  | { readonly is: 'promised'; readonly answers: readonly AcmeAnswer[] }
  | { readonly is: 'keyed'; readonly privateKey: string }
  | { readonly is: 'waiting'; readonly after_s: number }
  | { readonly is: 'issued'; readonly chain: string }
  | AcmeFailed

export interface AcmeFailed {
  readonly is: 'failed'
  readonly reason: string
  /** The wait that the CA requests; undefined if it names none. */
  readonly retryAfter_s: number | undefined
  /** Whether this order has failed for good: the next attempt begins another. */
  readonly isOver: boolean
}
