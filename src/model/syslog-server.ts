import { Type, type Static } from 'typebox'
import { closed, Id, Port, refersTo } from './fields.ts'

/** The destination of access log lines; one record for the cluster, or none. */
export const SyslogServer = closed({
  id: Id,
  host: Type.String({ maxLength: 253, description: 'Host name or address; empty: no server.' }),
  port: Port,
  transport: Type.Enum(['tls', 'tcp'], {
    description: 'tls: RFC 5425, the certificate of the server is verified. tcp: RFC 6587, not encrypted.',
  }),
  caCertificate: Type.String({
    maxLength: 65_536,
    description: 'PEM of the root certificate that the server must chain to; empty: the public roots.',
  }),
  certificateId: refersTo(
    Type.String({
      maxLength: 64,
      description: 'Client certificate; empty: none.',
    }),
    'certificates',
  ),
})
export type SyslogServer = Static<typeof SyslogServer>

/** The settings that its absence stands for. */
export const NO_SYSLOG_SERVER: Omit<SyslogServer, 'id'> = {
  host: '',
  port: 6514,
  transport: 'tls',
  caCertificate: '',
  certificateId: '',
}
