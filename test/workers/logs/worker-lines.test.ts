import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { WorkerLines } from '../../../workers/logs/worker-lines.ts'
import { logFolder } from '../../fixtures/log-rows.ts'

t.test('the identity comes first, then lines, in any pieces', async (test) => {
  const path = join(logFolder(test), 'socket')
  const server = createServer()
  await once(server.listen(path), 'listening')
  test.teardown(() => server.close())
  const said: string[] = []
  const ended = new Promise<void>((resolve) => {
    const taker = {
      begun: (info: string) => void said.push(info),
      line: (text: string) => void said.push(text),
      tooLong: () => void said.push('too long'),
      ended: resolve,
    }
    test.ok(new WorkerLines(path, 'ring', taker, '@!7 '))
  })
  // Sound: a server of sockets passes one.
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [asked] = await once(socket, 'data')
  test.equal(String(asked), '@!7 show info; @!7 show events ring -w\n')
  for (const character of 'Name: x\nPid: 7\n\none\ntwo\n\n') socket.write(character)
  socket.write('z'.repeat(1_000_000))
  socket.end('\nlast\n')
  await ended
  test.strictSame(said.slice(0, 3), ['Name: x\nPid: 7\n', 'one', 'two'])
  test.ok(said.includes('too long'))
  test.equal(said.at(-1), 'last')
})

t.test('without a listener it is over', async (test) => {
  const nothing = () => undefined
  await new Promise<void>((resolve) => {
    const taker = { begun: nothing, line: nothing, tooLong: nothing, ended: resolve }
    test.ok(new WorkerLines(join(logFolder(test), 'nobody'), 'ring', taker))
  })
})
