import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { EtcdService } from '../../../src/membership/etcd-service.ts'
import { JoinedCluster } from '../../../src/membership/joined-cluster.ts'
import { Members } from '../../../src/membership/members.ts'
import { refuses } from '../../fixtures/config.ts'
import { FIRST_CERTIFIED, formedNode, NO_PARTNER } from '../../fixtures/membership.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { freePort } from '../../fixtures/traffic.ts'

t.test('without etcd a node tells what it knows, and that nothing can be changed', async (t) => {
  const place = { host: '127.0.0.1', port: await freePort() }
  const { store, files, own } = await formedNode(t, systemClock, place)
  const members = new Members(store.members)
  const other = { pin: 'p', spki: '', serials: [], ...FIRST_CERTIFIED, tokenKey: '', version: '1.0.0' }
  await members.add(() => ({ id: 'a', name: 'left', since: '1', ...place, ...other }))
  await members.add(() => ({ id: 'b', name: 'right', since: '2', ...place, ...other, port: 1, pin: 'q' }))
  const nothing = async () => ({ ok: true, done: 0, recorded: 0, warnings: [] }) as const
  const cluster = await JoinedCluster.begin(
    {
      store,
      members,
      files,
      service: new EtcdService({ execute: nothing, check: nothing }, files),
      listen: place,
      handle: () => ({ status: 200, headers: {} }),
      admit: async () => undefined,
      leave: async () => undefined,
      onFolded: undefined,
      stateFolder: files.folder,
      ...NO_PARTNER,
      clock: systemClock,
      log: silentLog,
    },
    own,
  )
  const { nodes, ...state } = await cluster.state()
  t.match(state, { id: 'cluster-1', name: 'site', epoch: 1, quorum: false, sequence: 0, halted: undefined })
  t.match(nodes, [
    { id: 'a', name: 'left', isSelf: true, state: 'online', isVoter: false },
    { id: 'b', name: 'right', isSelf: false, isLeader: false, ahead: 0 },
  ])
  t.not(nodes[1]?.state, 'online')
  const done: string[] = []
  const work = (name: string) =>
    cluster.betweenLooks(async () => {
      done.push(`${name} begins`)
      await sleep(30)
      done.push(`${name} ends`)
    })
  await Promise.all([work('one'), work('other')])
  const [first, next] = done[0] === 'one begins' ? ['one', 'other'] : ['other', 'one']
  t.same(done, [`${first} begins`, `${first} ends`, `${next} begins`, `${next} ends`], 'one after the other')
  await t.rejects(
    cluster.betweenLooks(() => Promise.reject(new TypeError('a defect'))),
    TypeError,
  )
  t.equal(await cluster.betweenLooks(async () => 'next'), 'next', 'behind one that failed')
  store.orderBy(cluster.log)
  await refuses(t, 'NO_QUORUM', store.sessions.put('s', 1))
  await cluster.close()
  t.equal((await cluster.state()).nodes[1]?.state, 'unknown', 'whoever asked before its end is answered')
})
