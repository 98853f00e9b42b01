import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MasterSession } from '../../../src/watches/master-session.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { untilHolds } from '../../fixtures/until.ts'

/** A listener that behaves like a master, also at its end. */
async function master(path: string) {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => sockets.add(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return {
    sockets,
    /** It reloads: its sessions end. */
    hangUp() {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    },
    async end() {
      const closed = new Promise((resolve) => server.close(resolve))
      this.hangUp()
      await closed
    },
  }
}

function watched(test: Test, path: string) {
  const changes: boolean[] = []
  let next: (() => void) | undefined
  const session = new MasterSession(path, () => {
    changes.push(session.isThere)
    next?.()
  })
  // Its own timers keep no process alive.
  const alive = setInterval(() => undefined, 1_000)
  test.teardown(() => {
    clearInterval(alive)
    session.close()
  })
  const change = () => new Promise<void>((resolve) => (next = resolve))
  return { session, changes, change }
}

t.test('a master is there while a session with it is open', async (test) => {
  const path = join(temporaryFolder(test, 'master'), 's')
  const { session, changes, change } = watched(test, path)
  test.notOk(session.isThere)
  const first = await master(path)
  await session.start()
  test.ok(session.isThere, 'known from the start on')
  const ended = change()
  await first.end()
  await ended
  test.notOk(session.isThere)
  const back = change()
  const second = await master(path)
  await back
  test.same(changes, [true, false, true])
  session.close()
  await second.end()
})

t.test('its absence is known from the start on as well', async (test) => {
  const { session, changes } = watched(test, join(temporaryFolder(test, 'master'), 's'))
  await session.start()
  test.notOk(session.isThere)
  test.same(changes, [])
})

t.test('one that reloads, and accepts sessions again at once, was never away', async (test) => {
  const path = join(temporaryFolder(test, 'master'), 's')
  const { session, changes } = watched(test, path)
  const one = await master(path)
  await session.start()
  for (let round = 0; round < 3; round++) {
    one.hangUp()
    await untilHolds(() => one.sockets.size > 0)
  }
  test.same(changes, [true])
  session.close()
  await one.end()
})
