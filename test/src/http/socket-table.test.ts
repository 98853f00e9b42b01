import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { placeOfBytes, socketsByPlace } from '../../../src/http/socket-table.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const V4 = '7f000002'

t.test('the kernel reports how many connections each address holds', async (test) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets = [1, 2, 2].map((host) => connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${host}` }))
  test.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  for (const socket of sockets) if (socket.connecting) await once(socket, 'connect')
  const counts = await socketsByPlace(new Set([port]))
  test.same(Object.fromEntries(counts), { '7f000001': 1, [V4]: 2 })
  test.same(Object.fromEntries(await socketsByPlace(new Set([1]))), {})
})

t.test('lines are read whole however they arrive; listening and ended sockets do not count', async (test) => {
  const line = (state: string, remote: string) => `   1: 0100007F:24E3 ${remote}:D9C2 ${state} 00000000:00000000 00:0\n`
  const v6 = 'B80D01200000000000000000010000AA'
  const mapped = '0000000000000000FFFF00000200007F'
  const table = join(temporaryFolder(test, 'table'), 'tcp')
  const many = line('01', '0200007F').repeat(3_000)
  writeFileSync(
    table,
    `  sl  head\n${line('0A', '00000000')}${line('06', '0200007F')}${many}${line('08', v6)}${line('01', mapped)}`,
  )
  const counts = await socketsByPlace(new Set([0x24e3]), [table])
  test.same(Object.fromEntries(counts), { [V4]: 3_001, '20010db800000000': 1 })
})

t.test('a kernel started without IPv6 has one list', async (test) => {
  const folder = temporaryFolder(test, 'table')
  writeFileSync(join(folder, 'tcp'), '  sl  head\n   1: 0100007F:24E3 0200007F:D9C2 01 00000000:00000000 00:0\n')
  const tables = ['tcp', 'tcp6'].map((name) => join(folder, name))
  test.same(Object.fromEntries(await socketsByPlace(new Set([0x24e3]), tables)), { [V4]: 1 })
})

t.test("an address is identified by its bytes in the kernel's notation", async (test) => {
  test.equal(placeOfBytes(Uint8Array.of(127, 0, 0, 2)), V4)
  test.equal(placeOfBytes(Buffer.from('00000000000000000000ffff7f000002', 'hex')), V4)
  test.equal(placeOfBytes(Buffer.from('20010db8000000000000000000000001', 'hex')), '20010db800000000')
})
