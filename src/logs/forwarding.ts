import type { SyslogAddress } from '../../workers/logs/syslog-connection.ts'
import type { Forwarding } from '../../workers/logs/messages.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'

/** Returns everything that the log thread needs to forward lines. */
export function forwardingOf(running: ConfigView): Forwarding {
  const address = addressOf(running)
  const names = (section: keyof Forwarding['names']): ReadonlyMap<string, string> =>
    new Map(address === undefined ? [] : [...running.list(section)].map(({ id, name }) => [id, name]))
  return {
    address,
    names: {
      l7Frontends: names('l7Frontends'),
      l7Backends: names('l7Backends'),
      realServers: names('realServers'),
    },
  }
}

function addressOf(running: ConfigView): SyslogAddress | undefined {
  const server = running.get('syslogServers', SHARED)
  if (server === undefined) return undefined
  const { host, port, transport, caCertificate, certificateId } = server
  if (transport === 'tcp') return { host, port, tls: undefined }
  const shown = running.get('certificates', certificateId)
  return {
    host,
    port,
    tls: {
      ca: caCertificate === '' ? undefined : caCertificate,
      own: shown && { cert: shown.chain, key: shown.privateKey },
    },
  }
}
