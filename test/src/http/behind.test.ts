import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { ok, threadInFront } from '../../fixtures/in-front.ts'

const listenInFront = await threadInFront(t)

t.test('a body where none is expected is no part of what somebody else asks', async (test) => {
  const seen: string[] = []
  const { port } = await listenInFront(test, ({ method, path }) => {
    seen.push(`${method} ${path}`)
    return ok('1')
  })
  for (const method of ['OPTIONS', 'PATCH', 'TRACE', 'DELETE', 'PUT']) {
    const body = 'GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n'
    const socket = connectPlain(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${method} /open HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await once(socket, 'data')
    const answer = await fetch(`http://127.0.0.1:${port}/after/${method}`)
    test.equal(await answer.text(), '1')
    socket.destroy()
    test.same(seen.splice(0), [`${method} /open`, `GET /after/${method}`])
  }
})

t.test('who leaves before the answer is known to have left', async (test) => {
  const left = new Promise<void>((resolve) => {
    void listenInFront(test, (incoming) => {
      incoming.signal?.addEventListener('abort', () => resolve())
      return new Promise(() => undefined)
    }).then(async ({ port }) => {
      const gone = new AbortController()
      const asked = fetch(`http://127.0.0.1:${port}/`, { signal: gone.signal }).catch(() => undefined)
      await wait(100)
      gone.abort()
      await asked
    })
  })
  await left
  test.pass('told')
})
