import { once } from 'node:events'
import t from 'tap'
import { Witness } from '../../../workers/archive/witness.ts'
import { listenForSessions, PATIENCE_MS, STATS } from './socket-fixture.ts'
import { until } from '../../fixtures/until.ts'

const text = (answer: Uint8Array | undefined) => (answer === undefined ? undefined : Buffer.from(answer).toString())
const INFO = 'Name: HAProxy\nPid: 20\n'

t.test('one session, many commands, until it is closed', async (t) => {
  const { path, open } = await listenForSessions(t, (command) => (command === 'show info' ? `${INFO}\n` : STATS))
  const witness = await Witness.open(path, 20, PATIENCE_MS)
  if (witness === undefined) throw new Error('it did not open')
  t.equal(text(await witness.ask('show stat', PATIENCE_MS)), STATS)
  t.equal(text(await witness.ask('show info', PATIENCE_MS)), `${INFO}\n`)
  t.equal(open.size, 1)
  const [session] = open
  const ended = session === undefined ? undefined : once(session, 'close')
  witness.close()
  await ended
  t.notOk(witness.isOpen)
  t.equal(await witness.ask('show stat', PATIENCE_MS), undefined)
})

t.test('an answer in pieces, also cut within the prompt', async (t) => {
  const rest: ((text: string) => void)[] = []
  const { path, open } = await listenForSessions(t, (command) => {
    if (command === 'show info') return `${INFO}\n`
    for (const socket of open) rest.push((part) => socket.write(part))
    return undefined
  })
  const witness = await Witness.open(path, 20, PATIENCE_MS)
  const answer = witness?.ask('show stat', PATIENCE_MS)
  for (const part of [STATS.slice(0, 9), STATS.slice(9), '\n', '>', ' ']) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    for (const write of rest) write(part)
  }
  t.equal(text(await answer), `${STATS}\n`)
  witness?.close()
})

t.test('another process, a silent one and none at all', async (t) => {
  const { path, open } = await listenForSessions(t, (command) => (command === 'show info' ? `${INFO}\n` : undefined))
  t.equal(await Witness.open(path, 21, PATIENCE_MS), undefined)
  const witness = await Witness.open(path, 20, PATIENCE_MS)
  t.equal(await witness?.ask('show stat', 30), undefined)
  t.equal(await witness?.ask('show info', PATIENCE_MS), undefined, 'a later answer would be mistaken for this one')
  t.equal(witness?.isOpen, true, 'a slow process is not released')
  witness?.close()
  t.equal(await Witness.open('/nonexistent/s', 20, PATIENCE_MS), undefined)
  t.ok(open.size <= 1)
})

t.test('a late answer is dropped, and the session stays open', async (t) => {
  const late: (() => void)[] = []
  const { path, open } = await listenForSessions(t, (command) => {
    if (command === 'show info') return `${INFO}\n`
    for (const socket of open) late.push(() => socket.write(`${STATS}\n> `))
    return undefined
  })
  const witness = await Witness.open(path, 20, PATIENCE_MS)
  if (witness === undefined) throw new Error('it did not open')
  t.equal(await witness.ask('show stat', 30), undefined)
  for (const answer of late) answer()
  t.equal(await until('the next answer', async () => text(await witness.ask('show info', PATIENCE_MS))), `${INFO}\n`)
  witness.close()
})

t.test('an answer that arrived while it could not be read came in time', async (t) => {
  const { path } = await listenForSessions(t, (command) => (command === 'show info' ? `${INFO}\n` : STATS))
  const witness = await Witness.open(path, 20, PATIENCE_MS)
  const answer = witness?.ask('show stat', 50)
  // The other side of the socket is in this process as well: it has time to answer, and then neither has.
  await new Promise((resolve) => setTimeout(resolve, 20))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 80)
  t.equal(text(await answer), STATS)
  witness?.close()
})
