import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sendCommand } from '../../../workers/host/control-socket.ts'

/** A control socket that calls `serve` with each whole request. */
async function socketThat(t: Test, serve: (socket: Socket, request: string) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-socket-'))
  const path = join(folder, 's')
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let request = ''
    socket.on('data', (chunk) => (request += chunk.toString()))
    socket.on('end', () => serve(socket, request))
    socket.on('error', () => undefined)
    t.teardown(() => socket.destroy())
  }).listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return path
}

t.test('one line is sent, the whole answer arrives', async (t) => {
  const path = await socketThat(t, (socket, request) => {
    socket.write('you said ')
    setImmediate(() => socket.end(`${request}\n`))
  })
  t.equal(await sendCommand(path, 'show info', 5000), 'you said show info')
})

t.test('an empty answer is an answer', async (t) => {
  const path = await socketThat(t, (socket) => socket.end('\n'))
  t.equal(await sendCommand(path, 'set', 5000), '')
})

t.test('an answer without an end is none', async (t) => {
  t.equal(
    (await sendCommand(await socketThat(t, (socket) => socket.end()), 'x', 5000).catch(String)).includes('cut off'),
    true,
  )
  const torn = await socketThat(t, (socket) => socket.end('half a li'))
  await t.rejects(sendCommand(torn, 'x', 5000), { message: /the answer to "x" was cut off/ })
})

t.test('silence ends at the deadline', async (t) => {
  const path = await socketThat(t, (socket) => socket.write('…'))
  await t.rejects(sendCommand(path, 'x', 50), { message: /no complete answer to "x" within 50 ms/ })
})

t.test('nothing listens', async (t) => {
  await t.rejects(sendCommand('/nonexistent/socket', 'x', 5000), { message: /ENOENT/ })
})

t.test('two lines are never one command', async (t) => {
  await t.rejects(sendCommand('/nonexistent/socket', 'x\nshutdown', 5000), { message: /one line/ })
})

t.test('a payload is sent with its command, ends at an empty line, and is in no error', async (t) => {
  const path = await socketThat(t, (socket, request) => socket.end(`${JSON.stringify(request)}\n`))
  t.equal(await sendCommand(path, 'set x', 5000, 'a\n\nb\n'), JSON.stringify('set x <<\na\nb\n\n'))
  const silent = await socketThat(t, (socket) => socket.end())
  for (const nobody of [silent, '/nonexistent']) {
    t.notMatch(await sendCommand(nobody, 'set x', 5000, 'secret').catch(String), 'secret')
  }
})

t.test("commands beyond HAProxy's buffer are not sent: they crash version 2.6", async (t) => {
  const sent = sendCommand('/nonexistent/socket', 'set x', 5000, 'x\n'.repeat(9000))
  await t.rejects(sent, { message: /"set x" is too long/ })
})
