import { get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { App } from 'uWebSockets.js'
import { openLocalSocket, stopListening } from '../../../src/http/listening.ts'
import { writePiece } from '../../../src/http/pieces.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

/** Such a socket accepts all of a piece or nothing: one can be full behind another, which is rare for TCP. */
for (const [what, piece] of [
  ['bytes', Buffer.from('bytes, '.repeat(9_000))],
  ['text', 'Öl und Wasser, '.repeat(4_000)],
  ['short text', 'Öl'.repeat(1_000)],
] as const) {
  t.test(`${what} arrives whole at a slow client`, async (test) => {
    const socketPath = join(temporaryFolder(test, 'pieces'), 'socket')
    const count = Math.ceil(3_000_000 / piece.length)
    let waits = 0
    const app = App().any('/*', (response) => {
      let left = count
      response.onAborted(() => (left = 0))
      const more = () => {
        while (left > 0) {
          left--
          if (!writePiece(response, piece)) {
            waits++
            return
          }
        }
        response.cork(() => response.end())
      }
      response.onWritable(() => {
        more()
        return true
      })
      setImmediate(more)
    })
    const listening = await openLocalSocket(app, socketPath)
    test.teardown(() => {
      stopListening(listening)
      app.close()
    })
    const [answer] = (await once(get({ socketPath, agent: false }), 'response')) as [IncomingMessage]
    const taken: Buffer[] = []
    for await (const part of answer as AsyncIterable<Buffer>) {
      taken.push(part)
      if (taken.length % 8 === 0) await wait(2)
    }
    const wanted = Buffer.concat(Array.from({ length: count }, () => Buffer.from(piece)))
    test.ok(Buffer.concat(taken).equals(wanted), `${Buffer.concat(taken).length} of ${wanted.length} bytes`)
    test.ok(waits > 0, 'the client was slower')
  })
}
