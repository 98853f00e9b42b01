import t, { type Test } from 'tap'
import { silentLog } from '../../../../src/base/log.ts'
import type { Mib } from '../../../../src/snmp/agentx/answer.ts'
import { TYPE } from '../../../../src/snmp/agentx/pdu.ts'
import { Subagent } from '../../../../src/snmp/agentx/subagent.ts'
import { masterAgent, varBindsOf } from './master-fixture.ts'

const MIB: Mib = {
  get: () => ({ kind: 'gauge', value: 7 }),
  next: () => {
    throw new Error('a defect')
  },
}
const SUBTREE = [1, 3, 6, 1, 4, 1, 8072]
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const GET = hex('01050000 07000000 01000000 09000000 08000000 00000000 00000000')
const GET_NEXT = hex('01061000 00000007 00000001 0000000a 00000008 00000000 00000000')

function subagent(test: Test, path: string) {
  const agent = new Subagent({ path, subtree: SUBTREE, description: 'test', mib: MIB, log: silentLog })
  // Timers of the agent keep no process alive; this one does.
  const alive = setInterval(() => undefined, 1000)
  test.teardown(() => {
    clearInterval(alive)
    agent.stop()
  })
  agent.start()
  return agent
}

t.test(
  'it opens a session, registers its subtree, and answers in network order, whatever the master uses',
  async (test) => {
    const master = await masterAgent(test)
    subagent(test, master.path)
    await master.until(() => master.seen.length === 2)
    test.same(master.types(), [TYPE.open, TYPE.register])
    test.equal(master.seen[1]?.bytes.readUInt32BE(4), 7, 'in the session that it was given')
    master.send(GET)
    await master.until(() => master.seen.length === 3)
    test.same(varBindsOf(master.seen[2]?.bytes ?? Buffer.alloc(0)), [{ oid: [], value: 7 }])
  },
)

t.test('requests in pieces and several in one piece are answered in turn', async (test) => {
  const master = await masterAgent(test)
  subagent(test, master.path)
  await master.until(() => master.seen.length === 2)
  for (const byte of GET) master.send(Buffer.from([byte]))
  master.send(Buffer.concat([GET, GET]))
  await master.until(() => master.seen.length === 5)
  test.same(master.types().slice(2), [TYPE.response, TYPE.response, TYPE.response])
})

t.test('an error is one answer: genErr, and parseError for a truncated request', async (test) => {
  const master = await masterAgent(test)
  subagent(test, master.path)
  await master.until(() => master.seen.length === 2)
  master.send(GET_NEXT)
  master.send(hex('01051000 00000007 00000001 0000000b 00000004 7f000000'))
  await master.until(() => master.seen.length === 4)
  test.same(
    master.seen.slice(2).map(({ bytes }) => bytes.readUInt16BE(24)),
    [5, 266],
  )
})

t.test('garbage ends the connection, and another one follows', async (test) => {
  const master = await masterAgent(test)
  subagent(test, master.path)
  await master.until(() => master.seen.length === 2)
  master.send(Buffer.from('HTTP/1.1 400 Bad Request, and go away'))
  await master.until(() => master.seen.length === 4)
  test.same(master.types().slice(2), [TYPE.open, TYPE.register])
})

t.test('it looks for a lost master until it is back', async (test) => {
  const master = await masterAgent(test)
  subagent(test, master.path)
  await master.until(() => master.seen.length === 2)
  master.close()
  await master.until(() => master.connections() === 0)
  await master.listen()
  await master.until(() => master.seen.length === 4)
  test.same(master.types().slice(2), [TYPE.open, TYPE.register])
})

t.test('a refused registration is retried in a new session', async (test) => {
  const master = await masterAgent(test, [TYPE.register])
  subagent(test, master.path)
  await master.until(() => master.seen.length >= 4)
  test.same(master.types().slice(0, 4), [TYPE.open, TYPE.register, TYPE.open, TYPE.register])
})

t.test('stopped, it closes its session and does not return', async (test) => {
  const master = await masterAgent(test)
  const agent = subagent(test, master.path)
  await master.until(() => master.seen.length === 2)
  agent.stop()
  await master.until(() => master.connections() === 0)
  test.equal(master.types().at(-1), TYPE.close)
  agent.stop()
})
