import t from 'tap'
import { overlap, portProblems } from '../../../src/listeners/own-ports.ts'
import { frontend, l4Backend, l4Frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const API = { owner: 'the API', place: { host: '0.0.0.0', port: 9443 } }
const fields = (ip: string, ports: string, sshEnabled = true, places = [API]) =>
  portProblems(
    viewOf({
      l7Frontends: [frontend('f', null, { ip, ports })],
      userInterfaces: [{ id: 'n', apiPort: 9443, ipId: '', SSLCertificate: '', sshEnabled, sshPort: 2222 }],
    }),
    'n',
    places,
  ).map(({ id, field, message }) => `${id}.${field}: ${message}`)

t.test('two listeners overlap on one port, when the address is the same or every one', async (test) => {
  test.ok(overlap({ host: '0.0.0.0', port: 1 }, { host: '192.0.2.1', port: 1 }))
  test.ok(overlap({ host: '2001:DB8::1', port: 1 }, { host: '2001:db8:0::1', port: 1 }))
  test.notOk(overlap({ host: '0.0.0.0', port: 1 }, { host: '0.0.0.0', port: 2 }))
  test.notOk(overlap({ host: '192.0.2.1', port: 1 }, { host: '192.0.2.2', port: 1 }))
})

t.test('a frontend may not take a port of the API or of sshd', async (test) => {
  test.same(fields('192.0.2.1', '80,9000-9500'), ['f.ports: port 9443 on 192.0.2.1 is used by the API'])
  test.same(fields('192.0.2.1', '2222'), ['f.ports: port 2222 on 192.0.2.1 is used by sshd'])
  test.same(fields('192.0.2.1', '2222', false), [], 'sshd is off')
  test.same(fields('192.0.2.1', '9442,9444'), [])
  const elsewhere = [{ owner: 'the API', place: { host: '192.0.2.9', port: 9443 } }]
  test.same(fields('192.0.2.1', '9443', true, elsewhere), [], 'another address')
  test.equal(fields('0.0.0.0', '9443', true, elsewhere).length, 1)
})

t.test('a frontend that is off uses no port', async (test) => {
  const view = viewOf({ l7Frontends: [frontend('f', null, { ports: '9443', enabled: false })] })
  test.same(portProblems(view, 'n', [API]), [])
})

t.test('nor may a Layer 4 frontend, or the port of its answers', async (test) => {
  const balanced = (ports: string, real: number, persistTimeout: number) =>
    portProblems(
      viewOf({
        realServers: [realServer('r', { ip: '10.0.0.1', port: real })],
        l4Backends: [l4Backend('be', ['r'], { persistTimeout })],
        l4Frontends: [l4Frontend('l4', 'be', { ip: '192.0.2.1', ports })],
      }),
      'n',
      [API],
    ).map(({ section, id, field }) => `${section} ${id} ${field}`)
  test.same(balanced('9443', 80, 0), ['l4Frontends l4 ports'])
  test.same(balanced('8085', 9443, 60), ['l4Frontends l4 ports'])
  test.same(balanced('8085', 9443, 0), [], 'the kernel translates on its own')
  test.same(balanced('8085', 80, 60), [])
})
