import { Type, type Static } from 'typebox'
import { closed, Seconds } from './fields.ts'

/** The answers of HAProxy itself, and how it handles connections. */

/** HAProxy sends its own answers from one buffer of 16 KiB, headers included. */
export const PAGE_BYTES_MAX = 15_000

export const pageOf = (description: string) =>
  Type.String({
    maxLength: PAGE_BYTES_MAX,
    pattern: '^[^\\u0000]*$',
    description: `${description} Up to 15,000 bytes in UTF-8, sent unchanged.`,
  })

/** Statuses for which HAProxy has its own answer. */
const ERRORS = [400, 401, 403, 404, 405, 407, 408, 410, 413, 425, 429, 500, 501, 502, 503, 504] as const

const ErrorPage = closed(
  {
    status: Type.Enum([...ERRORS], { description: 'HTTP status of an answer that HAProxy generates itself.' }),
    page: pageOf('HTML.'),
  },
  'Page sent instead of the default page of HAProxy.',
  'ErrorPage',
)
export type ErrorPage = Static<typeof ErrorPage>

export const errorPagesOf = (description: string) =>
  Type.Optional(
    Type.Array(ErrorPage, {
      maxItems: ERRORS.length,
      description: `${description} One page per status; responses of servers, and answers to invalid requests, stay unchanged (http only).`,
    }),
  )

const Maintenance = closed(
  {
    enabled: Type.Boolean({ description: 'Whether all requests receive the maintenance page.' }),
    status: Type.Optional(
      Type.Integer({ minimum: 200, maximum: 599, description: 'HTTP status, 200 to 599. Default 503.' }),
    ),
    page: Type.Optional(pageOf('HTML of the page; default one sentence.')),
  },
  'Maintenance page.',
  'Maintenance',
)
export type Maintenance = Static<typeof Maintenance>

export const maintenanceOf = (description: string) =>
  Type.Optional({ ...Maintenance, description: `${description} In mode tcp, connections are closed.` })

export const Compression = closed(
  {
    enabled: Type.Boolean({ description: 'Whether HAProxy compresses responses that servers did not compress.' }),
    types: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}$',
          description: 'Media type, such as text/html.',
        }),
        {
          minItems: 1,
          maxItems: 40,
          uniqueItems: true,
          description: 'Media types to compress. Default texts, JSON and SVG.',
        },
      ),
    ),
  },
  'Compression of responses with gzip (http only).',
  'Compression',
)

export const FrontendTimeouts = closed(
  {
    httpRequest: Type.Optional(
      Seconds(
        'Longest wait for the headers of a request (http only). Default 10, or timeoutClient if that is less.',
        3600,
      ),
    ),
    httpKeepAlive: Type.Optional(
      Seconds('Longest wait for the next request on a connection (http only). Default timeoutClient.'),
    ),
    clientFin: Type.Optional(
      Seconds('Longest wait for a client that has closed one direction. Default timeoutClient.'),
    ),
  },
  'Timeouts in addition to timeoutClient.',
  'FrontendTimeouts',
)

export const BackendTimeouts = closed(
  {
    queue: Type.Optional(Seconds('Longest wait in the queue of a full server. Default timeoutConnect.')),
    tunnel: Type.Optional(
      Seconds(
        'Longest inactivity of tunnels, such as WebSockets. Default timeoutServer, or timeoutClient of the frontend if that is less.',
      ),
    ),
    serverFin: Type.Optional(
      Seconds('Longest wait for a server that has closed one direction. Default timeoutServer.'),
    ),
    check: Type.Optional(
      Seconds('Longest wait for the answer to a health check, once connected; of a script, for its end.', 3600),
    ),
  },
  'Timeouts in addition to timeoutConnect and timeoutServer.',
  'BackendTimeouts',
)

export const ProxyProtocol = Type.Union(
  [
    Type.Boolean(),
    Type.Array(Type.String({ maxLength: 64, description: 'Address or network.' }), { minItems: 1, maxItems: 256 }),
  ],
  {
    description:
      'Senders of the PROXY protocol, version 1 or 2. true: every connection must use it, so anybody can pretend to be any client; a list: connections from these addresses and networks must use it, all others are accepted without it. Clients of HTTP/3 are always accepted without it.',
  },
)

export const Alpn = Type.Array(Type.Enum(['h2', 'http/1.1']), {
  maxItems: 2,
  uniqueItems: true,
  description:
    'Protocols offered in the TLS handshake, in order of preference. Empty: h2 and http/1.1 in mode http, none in mode tcp.',
})

export const CLIENT_VERIFY = ['none', 'optional', 'required'] as const

export const clientCertificates = {
  clientCa: Type.Optional(
    Type.String({
      maxLength: 131_072,
      description:
        'PEM: certificates of the authorities that issue client certificates; empty for none. Needs certificates.',
    }),
  ),
  clientVerify: Type.Optional(
    Type.Enum([...CLIENT_VERIFY], {
      description:
        'Whether clients present a certificate: none, optional (a presented one must be valid), or required. The last two need clientCa. Default none.',
    }),
  ),
}
