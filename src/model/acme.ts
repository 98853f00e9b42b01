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
    description: 'Directory of the CA, https only.',
  }),
  contact: Type.Array(
    Type.String({
      maxLength: 320,
      pattern: '^[^\\s@,;?%:<>"]+@[A-Za-z0-9.-]+$',
      description: 'E-mail address.',
    }),
    { maxItems: 10, uniqueItems: true, description: 'Addresses that the CA writes to.' },
  ),
  termsAgreed: Type.Literal(true, {
    description: 'The terms of the CA are agreed to. Without that there is no account.',
  }),
  externalAccountBinding: Type.Optional(
    closed(
      {
        keyId: Line(256, 'Id of the key, from the CA.'),
        hmacKey: Type.String({
          minLength: 1,
          maxLength: 1024,
          pattern: '^[A-Za-z0-9_-]+={0,2}$',
          description: 'The key, base64url. Secret.',
        }),
      },
      'Ties the account to one that the CA knows otherwise. Secret.',
    ),
  ),
  caCertificate: Type.Optional(
    Type.String({
      maxLength: 65_536,
      description: 'PEM of the root that the directory is known by; else those of the system.',
    }),
  ),
  httpPort: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description:
        'Port of this appliance at which requests to port 80 arrive, where something before it forwards; 80.',
    }),
  ),
  tlsPort: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description:
        'Port of this appliance at which connections to port 443 arrive, where something before it forwards; 443.',
    }),
  ),
  privateKey: Secret('PEM of the key of the account.'),
})
export type AcmeAccount = Static<typeof AcmeAccount>

export const KEY_TYPES = ['ec256', 'ec384', 'rsa2048', 'rsa3072', 'rsa4096'] as const
export const CHALLENGES = ['http-01', 'tls-alpn-01', 'dns-01'] as const

/** The answer to a challenge that is not HTTP-01, at the name where the CA looks for it. */
export const AcmeAnswer = closed({
  name: Type.String({ maxLength: 270, description: 'Of the handshake, or of the TXT record.' }),
  value: Type.String({ maxLength: 64, description: 'SHA-256 of what the CA was promised, base64url.' }),
})
export type AcmeAnswer = Static<typeof AcmeAnswer>

/** The progress of an order: stored before each step, so that the next node or start continues from there. */
export const AcmeProgress = closed({
  of: Type.String({ maxLength: 64, description: 'Digest of what was ordered: of another order this says nothing.' }),
  orderUrl: Type.Optional(Type.String({ maxLength: 4096, description: 'The order that is under way.' })),
  accountUrl: Type.Optional(Type.String({ maxLength: 4096, description: 'By which the CA knows the account.' })),
  answers: Type.Optional(
    Type.Array(AcmeAnswer, { maxItems: 100, description: 'What the CA will find at the names of that order.' }),
  ),
  presentedAt_ms: Type.Optional(
    Type.Number({ description: 'When the script had made their records of DNS. Milliseconds since 1970.' }),
  ),
  isVisible: Type.Optional(Type.Literal(true, { description: 'Those records were seen.' })),
  leftovers: Type.Optional(
    Type.Array(AcmeAnswer, { maxItems: 1_000, description: 'Records of orders that are over, still to be removed.' }),
  ),
  privateKey: Type.Optional(Secret('PEM of the key that the certificate is asked for.')),
  failures: Type.Optional(Type.Integer({ minimum: 1, description: 'In a row.' })),
  failedAt_ms: Type.Optional(Type.Number({ description: 'Milliseconds since 1970.' })),
  wait_s: Type.Optional(Type.Integer({ minimum: 0, description: 'After that, before it is tried again.' })),
  lastError: Type.Optional(Type.String({ maxLength: 4096, description: 'Why it failed.' })),
  issued: Type.Optional(Type.String({ maxLength: 256, description: 'Fingerprint of what came of it last.' })),
  issuedAt_ms: Type.Optional(Type.Number({ description: 'Milliseconds since 1970.' })),
  asked: Type.Optional(Type.Literal(true, { description: 'Somebody wants it renewed now.' })),
})
export type AcmeProgress = Static<typeof AcmeProgress>

/** How DNS records are created, and when a CA may look at them. */
export const DnsChallenge = closed(
  {
    scriptId: refersTo(idOf('Script of /healthchecks that serves dns-01.'), 'healthChecks'),
    parameters: Type.Optional(ParameterValues),
    timeout: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 60, description: 'Seconds that one call of the script has; 30.' }),
    ),
    delay: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 3_600, description: 'Seconds before anybody looks at the records; 0.' }),
    ),
    visibleWithin: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600,
        description:
          'Seconds after the delay within which all name servers have to show the records; 120. 0: they are not asked.',
      }),
    ),
    nameServers: Type.Optional(
      Type.Array(
        Type.String({ maxLength: 64, description: 'Address, perhaps with a port: 192.0.2.53, [2001:db8::53]:5353.' }),
        {
          maxItems: 8,
          uniqueItems: true,
          description: 'Name servers to ask; without them, those of the zone.',
        },
      ),
    ),
  },
  'For dns-01: the script that makes the records, and how long they are waited for.',
  'DnsChallenge',
)
export type DnsChallenge = Static<typeof DnsChallenge>

/** A certificate that a CA issues and that is renewed. */
export const AcmeOrder = closed({
  id: Id,
  name: Name,
  accountId: refersTo(idOf('Account that it is ordered with.'), 'acmeAccounts'),
  names: Type.Array(
    Type.String({
      maxLength: 253,
      pattern: '^(\\*\\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
      description: 'DNS name in lower case; of other alphabets its xn-- form. *.example.org by dns-01 only.',
    }),
    { minItems: 1, maxItems: 100, uniqueItems: true, description: 'Names that the certificate is for.' },
  ),
  challenge: Type.Enum([...CHALLENGES], {
    description:
      'How the CA is shown that the names are ours. http-01: over plain HTTP, by the frontend with port 80. tls-alpn-01: in a handshake of its own, by the frontend with port 443. dns-01: in TXT records, by a script.',
  }),
  keyType: Type.Enum([...KEY_TYPES], { description: 'Kind of the key of the certificate, a new one each time.' }),
  certificateId: refersTo(idOf('Certificate that is replaced by what comes.'), 'certificates'),
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
