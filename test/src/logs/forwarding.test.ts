import t from 'tap'
import { forwardingOf } from '../../../src/logs/forwarding.ts'
import { NO_SYSLOG_SERVER } from '../../../src/model/syslog-server.ts'
import { backend, frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const FACTS = {
  commonName: 'lb',
  organisation: '',
  country: '',
  subjectAlt: [],
  validFrom: '',
  validTo: '',
  fingerprint: '',
  keyType: '',
}
const records = {
  l7Frontends: [frontend('shop', 'servers', { name: 'Shop' })],
  l7Backends: [backend('servers', ['web'])],
  realServers: [realServer('web')],
  certificates: [{ id: 'c', name: 'client', chain: 'CHAIN', privateKey: 'KEY', facts: FACTS }],
}

t.test('the log thread gets the server, its credentials, and the names of records', async (test) => {
  const server = { id: 'cluster', ...NO_SYSLOG_SERVER, host: 'collector.test', caCertificate: 'CA', certificateId: 'c' }
  const { address, names } = forwardingOf(viewOf({ ...records, syslogServers: [server] }))
  const tls = { ca: 'CA', own: { cert: 'CHAIN', key: 'KEY' } }
  test.strictSame(address, { host: 'collector.test', port: 6514, tls })
  test.strictSame(
    [...names.l7Frontends, ...names.realServers],
    [
      ['shop', 'Shop'],
      ['web', 'web'],
    ],
  )
  const plain = { ...server, transport: 'tcp' as const, port: 514, caCertificate: '', certificateId: '' }
  test.strictSame(forwardingOf(viewOf({ ...records, syslogServers: [plain] })).address?.tls, undefined)
  const simple = { ...server, caCertificate: '', certificateId: '' }
  test.strictSame(forwardingOf(viewOf({ syslogServers: [simple] })).address?.tls, { ca: undefined, own: undefined })
})

t.test('without a server no names are needed', async (test) => {
  const { address, names } = forwardingOf(viewOf(records))
  test.strictSame([address, names.l7Frontends.size], [undefined, 0])
})
