import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { until, untilHolds } from '../../fixtures/until.ts'
import { AT_ONCE, Questions } from '../../../workers/archive/questions.ts'
import { createSource } from '../../../workers/archive/source.ts'
import { listenForSilence, PATIENCE_MS } from './socket-fixture.ts'

t.test('a silent process is not asked again until its side has ended the connection', async (t) => {
  const { path, open, taken, hangUp } = await listenForSilence(t)
  const asked = (times: number) => untilHolds(() => taken() >= times)
  const questions = new Questions({ path })
  await t.rejects(questions.poll(['show stat'], 20), { code: 'TIMEOUT' })
  await t.rejects(questions.poll(['show stat'], 20), { code: 'TIMEOUT' })
  await asked(1)
  t.equal(open.size, 1, 'asked once, and its connection is still open')
  t.ok(questions.hasPlace)
  for (let pid = 1; pid < AT_ONCE; pid++) await t.rejects(questions.ask(pid, ['show stat'], 20), { code: 'TIMEOUT' })
  t.notOk(questions.hasPlace)
  await asked(AT_ONCE)
  await hangUp()
  await untilHolds(() => questions.hasPlace)
  await t.rejects(questions.poll(['show stat'], 20), { code: 'TIMEOUT' })
  await asked(AT_ONCE + 1)
  t.equal(open.size, 1, 'asked again')
})

t.test('a master that answers itself says that its worker does not', async (t) => {
  const { path, open } = await listenForSilence(t, '#<PID> <type>\n')
  const poll = createSource({ kind: 'master-socket', path })
  const silent = { ok: false, reason: 'its worker does not answer' }
  // Long enough for the beginning of an answer.
  t.same(await poll(2_000), silent)
  t.same(await poll(50), silent, 'the same as long as it lasts')
  t.equal(open.size, 1)
})

t.test('over TCP the connection is closed: the other side may be gone', async (t) => {
  const { port, taken } = await listenForSilence(t)
  const questions = new Questions({ host: '127.0.0.1', port })
  await t.rejects(questions.poll(['show stat'], 50), { code: 'TIMEOUT' })
  // Its end is reported in a turn of its own.
  await until('another question', async () => {
    await questions.poll(['show stat'], 50).catch(() => undefined)
    return taken() > 1
  })
  t.pass('asked again')
})

t.test('a process that was missing before is not waited for, and one that disappears is', async (t) => {
  const path = join(temporaryFolder(t), 'master.sock')
  const questions = new Questions({ path })
  const server = createServer((socket) => socket.resume().end('there'))
  t.teardown(() => server.close())
  const comes = () => setTimeout(() => server.listen(path), 60)
  comes()
  for (const poll of ['first', 'next'])
    await t.rejects(questions.poll(['show stat'], PATIENCE_MS), { code: 'ENOENT' }, `${poll}: asked once`)
  await once(server, 'listening')
  const text = async () => Buffer.from(await questions.poll(['show stat'], PATIENCE_MS)).toString()
  t.equal(await text(), 'there')
  await new Promise((resolve) => server.close(resolve))
  comes()
  t.equal(await text(), 'there', 'asked until it was back')
})
