import { type Static, Type } from 'typebox'
import { closed } from './fields.ts'

/** A longer list would no longer be an access log. */
const HEADERS_MAX = 16

/** What a frontend logs about its requests. */
export const LogSetting = closed(
  {
    enabled: Type.Boolean({ description: 'Whether requests are logged, one line each (http only).' }),
    format: Type.Optional(
      Type.Enum(['structured', 'combined', 'off'], {
        description:
          'Format of a line at the syslog server. structured: a JSON object with the fields of a search. combined: the format of Apache and NCSA; Referer and User-Agent are then kept as well. off: no lines, as if logging were disabled. Default structured.',
      }),
    ),
    sample: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Logs one request in this many, chosen at random; invalid requests are always logged. Default 1.',
      }),
    ),
    headers: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^[A-Za-z0-9_-]{1,64}$',
          description:
            'Name of a request header; its value is cut off after 1,024 bytes, and masked if it is a secret. A line holds about 11 KiB of path and headers; the last headers are cut off or missing if they exceed it.',
        }),
        {
          maxItems: HEADERS_MAX,
          uniqueItems: true,
          description: 'Request headers that are logged in addition to the other fields.',
        },
      ),
    ),
    target: Type.Optional(
      Type.Enum(['store', 'syslog', 'both'], {
        description:
          'Destination of the lines: the store of the node, which searches read; the syslog server; or both. Default store.',
      }),
    ),
  },
  'Access log of a frontend. Secrets in paths and headers are masked before a line is stored.',
  'AccessLogSetting',
)
export type LogSetting = Static<typeof LogSetting>

export const isLogged = (logs: LogSetting | undefined): boolean => logs?.enabled === true && logs.format !== 'off'

/** Returns whether lines are forwarded to the syslog server. */
export const isForwarded = (logs: LogSetting | undefined): boolean =>
  isLogged(logs) && (logs?.target === 'syslog' || logs?.target === 'both')
