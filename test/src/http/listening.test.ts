import { createServer } from 'node:net'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { App, us_socket_local_port } from 'uWebSockets.js'
import t from 'tap'
import { freePlace, isServed, openLocalSocket, openSocket, stopListening } from '../../../src/http/listening.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const HOST = '127.0.0.1'

t.test('two listeners of one process may share a port while one hands it over', async (test) => {
  const [first, second] = [App(), App()]
  const { port } = await freePlace({ host: HOST, port: 0 })
  const socket = await openSocket(first, { host: HOST, port })
  const other = await openSocket(second, { host: HOST, port })
  test.equal(us_socket_local_port(other), port)
  await test.rejects(freePlace({ host: HOST, port }), /in use or not on this machine/)
  stopListening(socket)
  stopListening(other)
  test.same(await freePlace({ host: HOST, port }), { host: HOST, port })
})

t.test('another program’s port and an address of another machine are refused', async (test) => {
  const stranger = createServer().listen(0, HOST)
  await once(stranger, 'listening')
  test.teardown(() => stranger.close())
  const port = Reflect.get(Object(stranger.address()), 'port') as number
  await test.rejects(freePlace({ host: HOST, port }), /cannot listen on 127\.0\.0\.1:/)
  await test.rejects(freePlace({ host: '192.0.2.1', port: 1 }), /not on this machine/)
})

t.test('a socket with a name is for its account alone, and replaces one that was left behind', async (test) => {
  const path = join(temporaryFolder(test, 'local'), 'api.sock')
  test.equal(await isServed(path), false)
  const before = process.umask(0)
  const first = App()
  await openLocalSocket(first, path).finally(() => process.umask(before))
  test.equal(statSync(path).mode & 0o777, 0o700)
  test.equal(await isServed(path), true)
  first.close()
  test.ok(statSync(path).isSocket(), 'as after kill -9')
  test.equal(await isServed(path), false)
  const second = App()
  test.teardown(() => second.close())
  await openLocalSocket(second, path)
  test.equal(await isServed(path), true)
  await test.rejects(openLocalSocket(App(), '/no/such/folder/api.sock'), /cannot listen on/)
})
