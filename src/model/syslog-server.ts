import { Type, type Static } from 'typebox'
import { closed, Id, Port, refersTo } from './fields.ts'

/** The destination of access log lines; one record for the cluster, or none. */
export const SyslogServer = closed({
  id: Id,
  host: Type.String({ maxLength: 253, description: 'Host name or address; empty: there is no server.' }),
  port: Port,
  transport: Type.Enum(['tls', 'tcp'], {
    description:
      'tls: RFC 5425, the certificate of the server is checked. tcp: RFC 6587, which anybody between may read.',
  }),
  caCertificate: Type.String({
    maxLength: 65_536,
    description: 'PEM of the root that the server is known by; empty: those that everybody trusts.',
  }),
  certificateId: refersTo(
    Type.String({
      maxLength: 64,
      description: 'Certificate that is shown to the server; empty: none.',
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
