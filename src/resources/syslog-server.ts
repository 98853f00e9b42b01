import { isDeepStrictEqual } from 'node:util'
import { endpoint } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { isHost } from '../base/host-name.ts'
import { closed, optional } from '../model/fields.ts'
import { SHARED } from '../model/node.ts'
import { NO_SYSLOG_SERVER, SyslogServer } from '../model/syslog-server.ts'
import { whyNoRoot } from '../rules/acme.ts'

const { id: _id, ...fields } = SyslogServer.properties

/** The transport has no empty value. */
const { transport: _transport, ...CLEARED } = NO_SYSLOG_SERVER

const shown = ({ id: _own, ...server }: SyslogServer) => server

/** Returns problems of single fields. */
function problems({ host = '', caCertificate = '' }: Partial<Omit<SyslogServer, 'id'>>): FieldProblem[] {
  const noRoot = caCertificate === '' ? undefined : whyNoRoot(caCertificate)
  return [
    ...(host === '' || isHost(host) ? [] : [problemIn('host', 'must be an IP address or a host name')]),
    ...(noRoot === undefined ? [] : [problemIn('caCertificate', noRoot)]),
  ]
}

/** Without TLS no certificate is presented or checked: sending one would suggest security that does not exist. */
function wholeProblems({ transport, caCertificate, certificateId }: Omit<SyslogServer, 'id'>): FieldProblem[] {
  if (transport === 'tls') return []
  return Object.entries({ caCertificate, certificateId }).flatMap(([field, value]) =>
    value === '' ? [] : [problemIn(field, 'needs transport tls: no certificate is used without it')],
  )
}

export const syslogServer = [
  endpoint({
    name: 'syslogServer.get',
    method: 'GET',
    path: '/layer7proxy/syslog',
    effect: 'read',
    extension: true,
    summary: 'Read the syslog server for access logs; an empty host means none',
    message: 'Syslog server',
    data: closed(fields),
    handle: (ctx) => {
      const server = ctx.section('syslogServers').settings(SHARED)
      return server === undefined ? NO_SYSLOG_SERVER : shown(server)
    },
  }),
  endpoint({
    name: 'syslogServer.update',
    method: 'PUT',
    path: '/layer7proxy/syslog',
    effect: 'stage',
    extension: true,
    summary: 'Change the syslog server for access logs; an empty host removes it',
    message: 'Syslog server stored',
    body: closed(optional(fields)),
    refuses: ['IN_USE'],
    whenNull: CLEARED,
    rules: problems,
    handle: (ctx, { body }) => {
      const servers = ctx.section('syslogServers')
      const stored = servers.settings(SHARED)
      const server = { ...NO_SYSLOG_SERVER, ...stored, ...body, id: SHARED }
      if (server.host !== '') {
        refuseFields([...problems(server), ...wholeProblems(server)])
        servers.put(server)
      } else {
        const isLost = stored === undefined && !isDeepStrictEqual(shown(server), NO_SYSLOG_SERVER)
        refuseFields(isLost ? [problemIn('host', 'is required: without a server there are no settings to store')] : [])
        if (stored !== undefined) servers.remove(SHARED)
      }
    },
  }),
]
