import { writeFileSync } from 'node:fs'
import { join as pathOf } from 'node:path'
import t from 'tap'
import { BASE, NUMBER_DIGITS } from '../../src/cluster/places.ts'
import { keyIdOf } from '../../src/cluster/sealing.ts'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { etcdOf } from '../fixtures/etcd-programs.ts'
import { addRip, allVote, asked, die, etcdAt, removes, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'

/** Nodes that are killed while one is removed, and a node that was admitted and never came up. */

t.test('removals that fail midway', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const programs = await etcdPrograms()
  if (typeof programs === 'string') return t.pass(`# SKIP ${programs}`)
  const etcd = pathOf(temporaryFolder(t, 'broken'), 'etcd')
  const write = (otherwise: string) =>
    writeFileSync(etcd, `#!/bin/sh\n[ "$1" = --version ] && exec ${programs.etcd} "$@"\n${otherwise}\n`, {
      mode: 0o755,
    })
  write('echo no room; exit 1')
  const [first, second, third] = [
    await daemons.start(),
    await daemons.start(),
    await daemons.start([], { env: { FULCRUM_ETCD: etcd } }),
  ]
  await form(first, 'left')
  t.equal((await join(second, 'right', first)).status, 200)
  await allVote(first, 2)

  await t.test('an admitted node whose etcd does not start is removed, and joins later', async (t) => {
    const refused = await join(third, 'third', first)
    t.match([refused.status, refused.json.code], [501, 'NOT_SUPPORTED'])
    t.match(refused.json.message, /no room/)
    t.equal(await seenBy(third), null)
    const { nodes } = await seenBy(first)
    t.match(nodes[2], { id: third.daemon.node, isVoter: false })
    const again = await join(third, 'third', second)
    t.match([again.status, again.json.errors?.[0].code], [422, 'ALREADY_MEMBER'])
    t.match(again.json.message, /remove it first/)
    const told = await second.daemon.call('DELETE', `/cluster/nodes/${third.daemon.node}`)
    t.equal(told.status, 200, told.text)
    write(`exec ${programs.etcd} "$@"`)
    const joined = await join(third, 'third', second)
    t.equal(joined.status, 200, joined.text)
    await allVote(first, 3)
  })

  await t.test('the asked node is killed, and another one continues', async (t) => {
    const before = new ClusterFiles(third.daemon.state).read()?.keys.at(-1)?.keyId
    await die(third)
    const told = removes(first, third)
    await until(
      'the first step',
      () => seenBy(second),
      ({ nodes }) => nodes.length === 2,
    )
    await first.daemon.kill('SIGKILL')
    await told
    const etcdOfSecond = etcdAt(t, second, new ClusterFiles(second.daemon.state))
    const keyOfBase = async () => {
      const [base] = (await asked(() => etcdOfSecond.range({ key: BASE }))).kvs
      return keyIdOf(base?.value.subarray(NUMBER_DIGITS) ?? Buffer.alloc(0))
    }
    let isUp = false
    await until(
      'a new key',
      async () => {
        // It may have been about to restart its etcd: then there is no quorum, and no node continues before it does.
        if (!isUp && etcdOf(first.daemon.state).length === 0) {
          await first.daemon.start()
          isUp = true
        }
        return await keyOfBase().catch(() => before)
      },
      (keyId) => keyId !== before,
    )
    t.equal((await asked(() => etcdOfSecond.members.list())).length, 2)
    await addRip(second, 'with the new key')
    if (!isUp) await first.daemon.start()
    const names = await until(
      'the entry',
      () => ripsOf(first),
      (found) => found.length === 1,
    )
    t.same(names, ['with the new key'], 'the record is sealed with a key that it had not read of')
    await until(
      'quorum',
      () => seenBy(first),
      ({ quorum }) => quorum === true,
    )
    await addRip(first, 'also here')
  })

  await t.test('a leaving node is killed midway, and is a single node after its start', async (t) => {
    const trusted = () => new ClusterFiles(first.daemon.state).trust()
    const before = trusted().serials.length
    const told = removes(second, second)
    await until(
      'the first step',
      () => seenBy(first),
      ({ nodes }) => nodes.length === 1,
    )
    await second.daemon.kill('SIGKILL')
    await told
    // No etcd answers it any more: it has to be told of its removal.
    await until(
      'its lock-out',
      async () => trusted(),
      ({ serials, isInForce }) => serials.length > before && isInForce,
    )
    await second.daemon.start()
    // The node restarts meanwhile, and a request at that moment is cut off.
    await until(
      'its end',
      () => seenBy(second).catch(() => undefined),
      (state) => state === null,
    )
    // The node is single before all its old data is removed.
    await until(
      'its files',
      async () => new ClusterFiles(second.daemon.state).exist,
      (exist) => !exist,
    )
    t.same(etcdOf(second.daemon.state), [])
    const kept = await until(
      'its records',
      () => ripsOf(second).catch(() => []),
      (found) => found.length > 0,
    )
    t.same(kept, ['also here', 'with the new key'])
    // The node restarts a moment later, unless its start had found that it was leaving.
    const body = { name: 'alone', ip: '192.0.2.1', port: 80 }
    await until(
      'an edit',
      () => second.daemon.call('POST', '/ipvsDirector/rips', { body }).catch(() => undefined),
      (answer) => answer?.status === 201 || answer?.status === 409,
    )
    await addRip(first, 'without it')
    t.equal((await ripsOf(first)).includes('alone'), false)
  })
  return undefined
})
