import { Type, type Static } from 'typebox'
import { closed, Seconds } from './fields.ts'

/** The answers of HAProxy itself, and how it handles connections. */

/** HAProxy sends its own answers from one buffer of 16 KiB, headers included. */
export const PAGE_BYTES_MAX = 15_000

export const pageOf = (description: string) =>
  Type.String({
    maxLength: PAGE_BYTES_MAX,
    pattern: '^[^\\u0000]*$',
    description: `${description} Up to 15,000 bytes in UTF-8, sent as it is.`,
  })

/** Statuses for which HAProxy has its own answer. */
const ERRORS = [400, 401, 403, 404, 405, 407, 408, 410, 413, 425, 429, 500, 501, 502, 503, 504] as const

const ErrorPage = closed(
  {
    status: Type.Enum([...ERRORS], { description: 'HTTP status that HAProxy answers with by itself.' }),
    page: pageOf('HTML.'),
  },
  'What is answered in place of the words of HAProxy.',
  'ErrorPage',
)
export type ErrorPage = Static<typeof ErrorPage>

export const errorPagesOf = (description: string) =>
  Type.Optional(
    Type.Array(ErrorPage, {
      maxItems: ERRORS.length,
      description: `${description} One for a status; answers of servers, and to what is no request, are left as they are (http only).`,
    }),
  )

const Maintenance = closed(
  {
    enabled: Type.Boolean({ description: 'Nobody is served, and everybody is answered this.' }),
    status: Type.Optional(
      Type.Integer({ minimum: 200, maximum: 599, description: 'HTTP status, 200 to 599. Default 503.' }),
    ),
    page: Type.Optional(pageOf('HTML; default one sentence.')),
  },
  'What is answered while it is worked on.',
  'Maintenance',
)
export type Maintenance = Static<typeof Maintenance>

export const maintenanceOf = (description: string) =>
  Type.Optional({ ...Maintenance, description: `${description} In mode tcp connections are closed.` })

export const Compression = closed(
  {
    enabled: Type.Boolean({ description: 'Whether HAProxy compresses what servers have not.' }),
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
          description: 'What is compressed. Default texts, JSON and SVG.',
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
        'Longest wait for the headers of a request (http only). Default 10, or timeoutClient where that is less.',
        3600,
      ),
    ),
    httpKeepAlive: Type.Optional(
      Seconds('Longest wait for the next request of a connection (http only). Default timeoutClient.'),
    ),
    clientFin: Type.Optional(
      Seconds('Longest wait for a client that has closed one direction. Default timeoutClient.'),
    ),
  },
  'What is waited for beside timeoutClient.',
  'FrontendTimeouts',
)

export const BackendTimeouts = closed(
  {
    queue: Type.Optional(Seconds('Longest wait for a server that is full. Default timeoutConnect.')),
    tunnel: Type.Optional(
      Seconds('Longest inactivity where both sides only pass bytes, as WebSockets do. Default timeoutServer.'),
    ),
    serverFin: Type.Optional(
      Seconds('Longest wait for a server that has closed one direction. Default timeoutServer.'),
    ),
    check: Type.Optional(Seconds('Longest wait for the answer to a health check, once connected.', 3600)),
  },
  'What is waited for beside timeoutConnect and timeoutServer.',
  'BackendTimeouts',
)

export const ProxyProtocol = Type.Union(
  [
    Type.Boolean(),
    Type.Array(Type.String({ maxLength: 64, description: 'Address or network.' }), { minItems: 1, maxItems: 256 }),
  ],
  {
    description:
      'From whom the PROXY protocol, version 1 or 2, is accepted: with true every connection has to use it, and anybody can pretend to be any client; otherwise connections from these addresses and networks have to use it, and all others come as they are.',
  },
)

export const Alpn = Type.Array(Type.Enum(['h2', 'http/1.1']), {
  maxItems: 2,
  uniqueItems: true,
  description:
    'Protocols that are offered with TLS, the preferred one first. Empty: h2 and http/1.1 in mode http, none in mode tcp.',
})

export const CLIENT_VERIFY = ['none', 'optional', 'required'] as const

export const clientCertificates = {
  clientCa: Type.Optional(
    Type.String({
      maxLength: 131_072,
      description:
        'PEM: certificates of the authorities whose clients are known; empty for none. Counts with certificates.',
    }),
  ),
  clientVerify: Type.Optional(
    Type.Enum([...CLIENT_VERIFY], {
      description:
        'Whether clients show a certificate: none, optional (one that is shown has to be right), or required. The last two go with clientCa. Default none.',
    }),
  ),
}
