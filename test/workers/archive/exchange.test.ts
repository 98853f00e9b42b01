import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { exchange, exchangeWithRetry, hadNoPlace } from '../../../workers/archive/exchange.ts'
import { listen, listenFull } from './socket-fixture.ts'

t.test('one request, the whole answer, over either kind of socket', async (t) => {
  const path = await listen(t, (request) => `to ${request}`)
  t.equal(Buffer.from(await exchange({ path }, 'a\n', 60_000)).toString(), 'to a\n')
  const server = createServer((socket) => socket.end('tcp')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  t.equal(Buffer.from(await exchange({ host: '127.0.0.1', port }, 'a\n', 60_000)).toString(), 'tcp')
})

t.test('failures are sentences', async (t) => {
  await t.rejects(exchange({ path: '/nonexistent/s' }, 'a\n', 60_000), { message: 'its socket does not exist' })
  const silent = await listen(t, () => undefined)
  await t.rejects(exchange({ path: silent }, 'a\n', 50), { message: 'it did not answer within 50 ms' })
})

t.test('nothing listens for a moment: retried', async (t) => {
  const path = join(temporaryFolder(t), 'late.sock')
  const asked = exchangeWithRetry({ path }, 'a\n', 60_000)
  const server = createServer((socket) => socket.end('late'))
  setTimeout(() => server.listen(path), 60)
  t.teardown(() => server.close())
  t.equal(Buffer.from(await asked).toString(), 'late')
})

t.test('no place is free for a moment: retried', async (t) => {
  const { path, takeAll } = await listenFull(t, 'later')
  const refused: unknown = await exchange({ path }, 'a\n', 60_000).catch((error: unknown) => error)
  t.match(refused, { message: 'its socket accepts no more connections' })
  t.ok(hadNoPlace(refused))
  await t.rejects(exchangeWithRetry({ path }, 'a\n', 60_000), { code: 'EAGAIN' }, 'not for ever')
  const asked = exchangeWithRetry({ path }, 'a\n', 60_000)
  setTimeout(takeAll, 60)
  t.equal(Buffer.from(await asked).toString(), 'later')
})
