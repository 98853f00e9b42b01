import { type Static, Type } from 'typebox'
import { closed } from './fields.ts'

/** A longer list would no longer be an access log. */
const HEADERS_MAX = 16

/** What a frontend logs about its requests. */
export const LogSetting = closed(
  {
    enabled: Type.Boolean({ description: 'Keeps a line of each request (http only).' }),
    format: Type.Optional(
      Type.Enum(['structured', 'combined', 'off'], {
        description:
          'How a line reads at the syslog server. structured: an object as JSON, with the fields of a search. combined: the line of Apache and NCSA; Referer and User-Agent are then kept as well. off: no line at all, as when it is not enabled. Default structured.',
      }),
    ),
    sample: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Keeps one request in this many, chosen at random; invalid requests are all kept. Default 1.',
      }),
    ),
    headers: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^[A-Za-z0-9_-]{1,64}$',
          description:
            'Name of a header of requests; its value is cut off after 1,024 bytes, and masked if it is a secret.',
        }),
        { maxItems: HEADERS_MAX, uniqueItems: true, description: 'Headers that are kept beside the other fields.' },
      ),
    ),
    target: Type.Optional(
      Type.Enum(['store', 'syslog', 'both'], {
        description:
          'Where lines go: to the store of the node, where they are searched; to the syslog server; or to both. Default store.',
      }),
    ),
  },
  'Access log of a frontend. Secrets in paths and headers are masked before a line is kept.',
  'AccessLogSetting',
)
export type LogSetting = Static<typeof LogSetting>

export const isLogged = (logs: LogSetting | undefined): boolean => logs?.enabled === true && logs.format !== 'off'

/** Returns whether lines are forwarded to the syslog server. */
export const isForwarded = (logs: LogSetting | undefined): boolean =>
  isLogged(logs) && (logs?.target === 'syslog' || logs?.target === 'both')
