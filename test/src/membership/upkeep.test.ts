import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { LEVEL } from '../../../src/cluster/levels.ts'
import { Members } from '../../../src/membership/members.ts'
import { Upkeep } from '../../../src/membership/upkeep.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, formedNode } from '../../fixtures/membership.ts'

t.test('with each look a node does its periodic work, and a failure is retried with the next one', async (test) => {
  const clock = manualClock(Date.now())
  const { store, keys, client, files, own } = await formedNode(test, clock, { host: '192.0.2.1', port: 9444 })
  const members = new Members(store.members)
  const { host, port } = own
  await members.add(() => ({ id: 'a', name: 'a', since: 'now', serials: [], ...FIRST_CERTIFIED, host, port }) as never)
  const done: string[] = []
  const removals = { isDue: true, isEldest: true, finish: async () => void done.push('removal') }
  let isBroken = true
  const witness = {
    look: async () => {
      if (isBroken) throw new Error('it does not answer')
      done.push('witness')
    },
  }
  const upkeep = new Upkeep({
    cluster: { own, etcd: client, keys, log: { position: 7 }, removals, witness } as never,
    service: {} as never,
    present: () => undefined,
    store,
    members,
    files,
    clock,
    log: silentLog,
  })
  await test.rejects(upkeep.look(undefined, []), { message: 'it does not answer' })
  test.same([done, files.haproxy], [['removal'], undefined])
  isBroken = false
  removals.isDue = false
  await upkeep.look(undefined, [])
  test.same(done, ['removal', 'witness'])
  test.match(members.get(own.nodeId), { level: LEVEL, haproxy: files.haproxy?.certificate })
  test.type(files.haproxy?.certificate, 'string')
})
