import { Type, type Static } from 'typebox'
import { LogSetting } from './access-log.ts'
import { closed, FallbackServer, Id, Ip, Name, Port, Seconds, Weight, refersTo, Owner } from './fields.ts'
import { HealthCheckSetting } from './health-check.ts'
import { rulesOf } from './l7-rules.ts'
import {
  Alpn,
  BackendTimeouts,
  clientCertificates,
  Compression,
  errorPagesOf,
  FrontendTimeouts,
  maintenanceOf,
  ProxyProtocol,
} from './l7-settings.ts'
import { Ports } from './ports.ts'

const Mode = Type.Enum(['http', 'tcp'], { description: 'http parses requests; tcp passes bytes.' })
const Enabled = Type.Boolean({ description: 'A disabled frontend or backend stays configured and serves nothing.' })

export const TLS_VERSIONS = ['1.0', '1.1', '1.2', '1.3'] as const
export const DEFAULT_MIN_TLS = '1.2'

/** A Layer 7 frontend as stored: what clients connect to. */
export const L7Frontend = closed({
  id: Id,
  name: Name,
  mode: Mode,
  ip: Ip,
  ports: Ports,
  defaultBackendId: Type.Union([refersTo(Id, 'l7Backends'), Type.Null()], {
    description: 'Backend that receives the traffic; null answers 503 (http) or closes the connection (tcp).',
  }),
  maxConn: Type.Union([Type.Integer({ minimum: 1, maximum: 10_000_000 }), Type.Null()], {
    description: 'Maximum of concurrent connections, 1 to 10,000,000; null: only the process limit applies.',
  }),
  timeoutClient: Seconds('Longest inactivity of a client.'),
  forwardFor: Type.Boolean({ description: 'Adds X-Forwarded-For with the client address (http only).' }),
  enabled: Enabled,
  certificates: Type.Optional(
    Type.Array(refersTo(Id, 'certificates'), {
      maxItems: 1000,
      uniqueItems: true,
      description:
        'Certificates; with at least one, the ports use TLS. The first is the default for clients whose server name matches no other.',
    }),
  ),
  cipherListId: Type.Optional(
    Type.Union([refersTo(Id, 'cipherLists'), Type.Null()], {
      description: 'Cipher list; null: default of HAProxy.',
    }),
  ),
  minTls: Type.Optional(Type.Enum([...TLS_VERSIONS], { description: 'Oldest accepted TLS version; default 1.2.' })),
  httpRedirectToHttps: Type.Optional(
    Type.Boolean({
      description: 'Redirects requests without TLS to https (http only). Port 80 then stays plain HTTP.',
    }),
  ),
  hsts: Type.Optional(
    Type.Union([Type.Boolean(), Type.Integer({ minimum: 0, maximum: 63_072_000 })], {
      description: 'Tells browsers to use https only (http only), for this many seconds; true is a year.',
    }),
  ),
  logs: Type.Optional(LogSetting),
  rules: rulesOf('Rules for requests, before a backend receives them and after the redirect to https.'),
  maintenance: maintenanceOf('Maintenance: HAProxy itself answers all requests, after the redirect to https.'),
  errorPages: errorPagesOf('Pages for answers that no backend gives.'),
  compression: Type.Optional(Compression),
  timeouts: Type.Optional(FrontendTimeouts),
  alpn: Type.Optional(Alpn),
  http3: Type.Optional(
    Type.Boolean({
      description:
        'HTTP/3 in addition to TCP, announced to browsers (http only, with certificates). Needs HAProxy 2.9 or later with QUIC.',
    }),
  ),
  proxyProtocol: Type.Optional(ProxyProtocol),
  ...clientCertificates,
  owner: Owner,
})
export type L7Frontend = Static<typeof L7Frontend>

/** HAProxy stores milliseconds in 31 bits. */
const LONGEST_S = 2_147_483

/** Which backend server keeps a client: by a cookie, or by the client address. */
export const Persistence = closed(
  {
    type: Type.Enum(['none', 'cookie', 'ip'], { description: 'How clients stay with their real server.' }),
    cookieName: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        description:
          'Name of the cookie that HAProxy inserts; default FULCRUMID. Backends behind the same host need different names, or each replaces the cookie of the other.',
      }),
    ),
    timeout: Type.Optional(Seconds('How long an address keeps its server after its last connection.', LONGEST_S)),
  },
  'How clients stay with their real server.',
  'Persistence',
)

/** Membership of a real server in a backend. Omitted values come from the real server. */
export const L7Real = closed({
  ripId: refersTo(Type.String({ minLength: 1, maxLength: 64, description: 'Id of the real server.' }), 'realServers'),
  weight: Type.Optional(Weight),
  port: Type.Optional(Port),
  encrypted: Type.Optional(Type.Boolean({ description: 'Use TLS to the real server.' })),
  sni: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9.-]{1,253}$', description: 'Server name sent in the TLS handshake.' }),
  ),
  verify: Type.Optional(
    Type.Boolean({
      description:
        'Verify the server’s certificate against the system’s authorities and the name in sni (needs encrypted and sni).',
    }),
  ),
  sendProxy: Type.Optional(Type.Boolean({ description: 'Send the client address with PROXY protocol version 2.' })),
  maxConn: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'Maximum of concurrent connections to this server.' }),
  ),
  backup: Type.Optional(
    Type.Boolean({
      description: 'Takes traffic only while no ordinary server takes new connections; the first of several serves.',
    }),
  ),
})
export type L7Real = Static<typeof L7Real>

/** A Layer 7 backend as stored: a group of real servers. */
export const L7Backend = closed({
  id: Id,
  name: Name,
  mode: Mode,
  balance: Type.Enum(['roundrobin', 'leastconn', 'source', 'uri', 'random', 'first'], {
    description: 'Algorithm by which HAProxy chooses a server.',
  }),
  persistence: Persistence,
  reals: Type.Array(L7Real, { maxItems: 20_000, description: 'The real servers, in the order HAProxy lists them.' }),
  healthCheck: HealthCheckSetting,
  fallback: Type.Union([FallbackServer, Type.Null()], {
    description:
      'Server that answers while no real server, backups included, takes new connections: all are down, drained or halted. null for none.',
  }),
  timeoutConnect: Seconds('Longest wait for a connection to a real server.', 3600),
  timeoutServer: Seconds('Longest inactivity of a real server.'),
  enabled: Enabled,
  rules: rulesOf('Rules for the headers of responses (http only).'),
  maintenance: maintenanceOf('Maintenance: HAProxy answers instead of the servers, for requests of all frontends.'),
  errorPages: errorPagesOf(
    'Pages for answers that no server gives; a page of the frontend is used for other statuses.',
  ),
  httpReuse: Type.Optional(
    Type.Enum(['never', 'safe', 'aggressive', 'always'], {
      description: 'Whether requests of different clients share connections to a server (http only). Default safe.',
    }),
  ),
  timeouts: Type.Optional(BackendTimeouts),
  owner: Owner,
})
export type L7Backend = Static<typeof L7Backend>

/** The meaning of a frontend without these fields. */
export const L7_FRONTEND_UNSET: Partial<L7Frontend> = {
  certificates: [],
  cipherListId: null,
  minTls: DEFAULT_MIN_TLS,
  httpRedirectToHttps: false,
  hsts: false,
  logs: { enabled: false },
  rules: [],
  maintenance: { enabled: false },
  errorPages: [],
  compression: { enabled: false },
  timeouts: {},
  alpn: [],
  http3: false,
  proxyProtocol: false,
  clientCa: '',
  clientVerify: 'none',
}

/** The meaning of a backend without these fields. */
export const L7_BACKEND_UNSET: Partial<L7Backend> = {
  rules: [],
  maintenance: { enabled: false },
  errorPages: [],
  httpReuse: 'safe',
  timeouts: {},
}
