import { isIP } from 'node:net'
import { Type, type Static } from 'typebox'
import { closed, Id, Name, Seconds, refersTo, idOf, Owner } from './fields.ts'

/** The kinds of backends that a check can serve. */
export const CHECK_SERVICES = ['layer-4', 'layer-7'] as const
export type CheckService = (typeof CHECK_SERVICES)[number]

/** The uses of a script: checking servers of backends, or making the DNS records that CAs ask for. */
export const SCRIPT_SERVICES = [...CHECK_SERVICES, 'dns-01'] as const

/** Checks that are part of Fulcrum: scripts like those of users, with reserved ids. */
export const BUILT_IN_CHECKS = [
  'ping',
  'tcp',
  'http',
  'https',
  'smtp',
  'dns',
  'ldap',
  'mysql',
  'radius',
  'udp',
] as const

export const isBuiltIn = (id: string): boolean => BUILT_IN_CHECKS.some((name) => name === id)

/** A secret is passed on standard input, and only to scripts that serve nothing but dns-01. */
export const PARAMETER_TYPES = ['integer', 'port', 'path', 'hostname', 'string', 'secret'] as const

/** A parameter of a script beside the addresses, passed as a flag `--name=value`. */
export const ParameterDeclaration = closed(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9]+$',
      description: 'Becomes the flag --name=value: 1 to 64 letters and digits.',
    }),
    label: Type.Optional(Type.String({ maxLength: 128, description: 'Label of the field in forms.' })),
    type: Type.Enum([...PARAMETER_TYPES], { description: 'Type of the values.' }),
    required: Type.Optional(Type.Boolean({ description: 'Whether a value is required; excludes a default.' })),
    default: Type.Optional(
      Type.String({ maxLength: 1024, description: 'Value if none is given; makes the parameter optional.' }),
    ),
  },
  'Parameter of a script.',
  'HealthCheckParameter',
)
export type ParameterDeclaration = Static<typeof ParameterDeclaration>

/** The declaration in a request, or in the header of a script: only the name is required. */
export const SentDeclaration = closed({
  ...ParameterDeclaration.properties,
  type: Type.Optional(Type.Enum([...PARAMETER_TYPES], { description: 'Type of the values; default string.' })),
})
export type SentDeclaration = Static<typeof SentDeclaration>

export const declared = (sent: SentDeclaration): ParameterDeclaration => ({ ...sent, type: sent.type ?? 'string' })

/** Maximum number of parameters of one script. */
export const PARAMETERS_MAX = 32

/** Maximum size of a script in bytes, as in the contract. */
export const SCRIPT_BYTES_MAX = 256 * 1024

/** A health check script as stored. */
export const HealthCheck = closed({
  id: Id,
  name: Name,
  description: Type.String({ maxLength: 1024, description: 'Description, up to 1024 characters.' }),
  script: Type.String({
    minLength: 1,
    maxLength: SCRIPT_BYTES_MAX,
    description: 'Text of the script, beginning with #!; exit status 0 means up. Up to 256 KiB.',
  }),
  services: Type.Array(Type.Enum([...SCRIPT_SERVICES]), {
    minItems: 1,
    maxItems: SCRIPT_SERVICES.length,
    uniqueItems: true,
    description:
      'What may use the script: layer-4 backends, layer-7 backends or both; dns-01: certificate orders, which call it with present|cleanup NAME VALUE.',
  }),
  parameters: Type.Array(ParameterDeclaration, {
    maxItems: PARAMETERS_MAX,
    description: 'Parameters, in the order of the flags.',
  }),
  owner: Owner,
})
export type HealthCheck = Static<typeof HealthCheck>

/** Values by parameter name. They are visible in the list of processes, so secrets do not belong here. */
export const ParameterValues = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9]{1,64}$' }),
  Type.String({ maxLength: 1024, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }),
  {
    maxProperties: PARAMETERS_MAX,
    additionalProperties: false,
    description:
      'Values by parameter name, one line of up to 1024 characters each. They are visible in the process list.',
  },
)
export type ParameterValues = Static<typeof ParameterValues>

/** Secret values by parameter name. */
export const SecretValues = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9]{1,64}$' }),
  Type.String({ minLength: 1, maxLength: 4096, pattern: '^[^\\u0000-\\u001f\\u007f]*$' }),
  {
    maxProperties: PARAMETERS_MAX,
    additionalProperties: false,
    description:
      'Values of parameters of type secret, one line of up to 4096 characters each; the script reads them from standard input as lines name=value. Secret: never returned.',
  },
)

const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/

/**
 * Returns whether the text is a host name of letters, digits, hyphens and dots. A text that looks like an IPv4 address
 * must be one.
 */
export function isHostName(host: string): boolean {
  if (/^[\d.]+$/.test(host)) return isIP(host) === 4
  return host.length <= 253 && host.split('.').every((label) => LABEL.test(label))
}

/**
 * Returns whether the text can be a Host header: a host name or an address, IPv6 in brackets, with an optional port.
 */
export function isHostHeader(text: string): boolean {
  const match = /^(\[[\da-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text)
  const [, host = '', port] = match ?? []
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return false
  if (host.startsWith('[')) return isIP(host.slice(1, -1)) === 6
  return isHostName(host)
}

/** Path of a request as it is sent, as a regular expression. */
export const CHECKED_PATH = '^/[\\x21-\\x7e]*$'
/** Statuses and ranges of statuses, as a regular expression. */
export const CHECKED_STATUSES = '^[1-5][0-9]{2}(-[1-5][0-9]{2})?(,[1-5][0-9]{2}(-[1-5][0-9]{2})?)*$'

const HostHeader = Type.Refine(
  Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'Host header and TLS server name of the check: host name or address, optionally with a port.',
  }),
  isHostHeader,
  () => 'must be a host name or an address (IPv6 in brackets), optionally with a port between 1 and 65535',
)

/** How a backend uses a check: the part of a backend that both layers share. */
export const HealthCheckSetting = closed(
  {
    type: Type.Enum(['tcp', 'http', 'https', 'script', 'none'], {
      description: 'Type of the check; script uses the one of /healthchecks that id names.',
    }),
    id: Type.Optional(refersTo(idOf('Id of the health check; only for type script.'), 'healthChecks')),
    parameters: Type.Optional(ParameterValues),
    path: Type.Optional(
      Type.String({
        maxLength: 1024,
        pattern: CHECKED_PATH,
        description: 'Path that an http or https check requests, such as /health.',
      }),
    ),
    host: Type.Optional(HostHeader),
    expect: Type.Optional(
      Type.String({
        pattern: CHECKED_STATUSES,
        maxLength: 128,
        description: 'Statuses that mean up, such as "200-399" (the default) or "200,204".',
      }),
    ),
    interval: Type.Optional(Seconds('Time between two checks of a real server.', 3600)),
    rise: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Consecutive passes after which a server is up.' }),
    ),
    fall: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Consecutive failures after which a server is down.' }),
    ),
  },
  'How, and how often, real servers are checked.',
  'HealthCheckSetting',
)
export type HealthCheckSetting = Static<typeof HealthCheckSetting>

/** The values of settings that a backend leaves out. */
export const CHECK_DEFAULTS = { interval: 2, rise: 2, fall: 3, path: '/', expect: '200-399' } as const
