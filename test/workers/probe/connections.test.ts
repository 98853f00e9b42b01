import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { runProgram } from '../../../workers/host/linux-host.ts'
import { localAddresses, readConnections } from '../../../workers/probe/connections.ts'

const HEAD = '  sl  local_address rem_address   st'
const table = (...lines: readonly string[]) => [HEAD, ...lines, ''].join('\n')

t.test('the kernel’s table: words of four bytes, in machine byte order', async (test) => {
  const four = table(
    '   0: 0A0200C0:24E3 076433C6:D431 01 00000000:00000000',
    '   1: 0B0200C0:24E3 076433C6:D432 06 00000000:00000000',
    '   2: 0C0200C0:0016 076433C6:D433 01 00000000:00000000',
    '   3: 00000000:24E3 00000000:0000 0A 00000000:00000000',
  )
  test.same(localAddresses(four, '198.51.100.7', 9443), ['192.0.2.10'], 'established, and of this port')
  test.same(localAddresses(four, '198.51.100.8', 9443), [])
  const six = table(
    '   0: B80D0120000000000000000001000000:24E3 B80D0120000000000000000009000000:D431 01 00000000:00000000',
    '   1: 0000000000000000FFFF00000A0200C0:24E3 0000000000000000FFFF0000076433C6:D431 01 00000000:00000000',
  )
  test.same(localAddresses(six, '2001:db8::9', 9443), ['2001:db8::1'])
  test.same(localAddresses(six, '198.51.100.7', 9443), ['192.0.2.10'], 'IPv4 on a dual-stack socket')
})

/** Returns the port of a connection over loopback. */
async function connected(test: Test): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = Object(server.address()) as { port: number }
  const client = connect(port, '127.0.0.1')
  await once(client, 'connect')
  test.teardown(() => {
    client.destroy()
    server.close()
  })
  return port
}

t.test('a real connection, with the route of its answers', async (test) => {
  const port = await connected(test)
  const [found] = await readConnections('127.0.0.1', port, runProgram)
  test.equal(found?.local, '127.0.0.1')
  test.match(found?.destination, /^127\./)
  test.same(await readConnections('192.0.2.77', port, runProgram), [])
  const files = ['/proc/net/tcp', join(temporaryFolder(test, 'proc'), 'tcp6')]
  test.match(await readConnections('127.0.0.1', port, runProgram, files), [{ local: '127.0.0.1' }], 'without IPv6')
})

t.test('the route of the answers with its next hop, of either family', async (test) => {
  const port = await connected(test)
  const answered = (route: object) =>
    readConnections('127.0.0.1', port, async () => ({ exitCode: 0, output: JSON.stringify([route]) }))
  const local = '127.0.0.1'
  test.same(await answered({ dst: 'default', gateway: '192.0.2.1' }), [
    { local, destination: '0.0.0.0/0', via: '192.0.2.1' },
  ])
  test.same(await answered({ dst: '10.0.0.0/8', via: { family: 'inet6', host: 'fe80::1' } }), [
    { local, destination: '10.0.0.0/8', via: 'fe80::1' },
  ])
  test.same(await answered({ dst: '192.0.2.7', dev: 'eth0' }), [{ local, destination: '192.0.2.7/32' }])
})
