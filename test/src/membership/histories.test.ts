import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { Takeover } from '../../../storage/config/entry.ts'
import { silentLog } from '../../../src/base/log.ts'
import { Histories, type HistoryTold, standingTo } from '../../../src/membership/histories.ts'
import { Members } from '../../../src/membership/members.ts'
import { clusterKeys, MemoryCluster, staged } from '../../fixtures/cluster-in-memory.ts'
import { refuses } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const PLACE = { host: '192.0.2.1', port: 9444 } as const
const made = (epoch: number, id: string, since: number): Takeover => ({
  epoch,
  id,
  since,
  nodeId: id,
  at: 'now',
  by: 'somebody',
  reason: 'gone',
})

t.test('relations between histories', async (t) => {
  const [first, mine, theirs] = [made(2, 'x', 5), made(3, 'a', 20), made(3, 'b', 15)]
  t.same(standingTo([first], [first]), { is: 'same' })
  t.same(standingTo([first], [first, theirs]), { is: 'older' })
  t.same(standingTo([first, mine], [first]), { is: 'same' })
  t.same(standingTo([first, mine], [first, theirs]), { is: 'parted', since: 15 })
})

/** The node `a`, and the answers of the node `b`. */
async function nodeA(test: Test, told: HistoryTold | (() => Promise<HistoryTold>), halt?: string) {
  const cluster = await MemoryCluster.form(test)
  const node = await cluster.node('a')
  const members = new Members(node.store.members)
  for (const id of ['a', 'b']) await members.add(() => ({ id, name: id, since: id, ...PLACE }) as never)
  const stateFolder = temporaryFolder(test, 'state')
  const changes: object[] = []
  let beginnings = 0
  const own = { clusterId: 'c', name: 'site', nodeId: 'a', epoch: 1, keys: clusterKeys().stored(), ...PLACE }
  let isReturning: true | undefined
  const histories = new Histories({
    own,
    etcd: node.etcd,
    keys: clusterKeys(),
    store: node.store,
    members,
    files: {
      read: () => ({ ...own, ...(isReturning && { isReturning }) }),
      change: async (change) => void changes.push(change),
      halt,
    },
    peers: {
      livenessOf: () => ({ isReachable: true, heard_ms: undefined, why: undefined }),
      forward: async () => {
        const answer = typeof told === 'function' ? await told() : told
        return { status: 200, headers: {}, body: [Buffer.from(JSON.stringify(answer))] } as never
      },
    },
    stateFolder,
    beginAnew: () => void (beginnings += 1),
    clock: manualClock(),
    log: silentLog,
  })
  /** This node takes over in its own history. */
  const takeOver = async () => {
    await node.store.write({ op: 'takeover', takeover: made(2, 'a', node.log.position) })
  }
  const asideFiles = () => {
    try {
      return readdirSync(`${stateFolder}/set-aside`)
    } catch {
      return []
    }
  }
  const comesBack = () => {
    isReturning = true
  }
  return { node, members, histories, changes, takeOver, asideFiles, comesBack, beginnings: () => beginnings }
}

const ALONE = [{ id: '1', name: 'a', peerUrls: [], clientUrls: [], isLearner: false }]
const THEIRS = (edits: number): HistoryTold => ({ takeovers: [made(2, 'b', 2)], edits, givesWay: false })

t.test('a node that has missed a takeover comes back automatically', async (t) => {
  const { histories, changes, beginnings, asideFiles } = await nodeA(t, THEIRS(0))
  await histories.look(undefined)
  t.same([changes, beginnings(), histories.givesWay], [[{ isReturning: true, vote: undefined }], 1, true])
  t.same(asideFiles(), [])
  t.throws(() => histories.admit(staged('a', 1)), { code: 'NO_QUORUM' })
})

t.test('its own changes are set aside before', async (t) => {
  const { node, histories, asideFiles } = await nodeA(t, THEIRS(0))
  await node.store.write(staged('more', 1))
  await histories.look(undefined)
  t.equal(asideFiles().length, 1)
})

t.test('a halted node comes back as well, and its data are set aside in any case', async (t) => {
  const { node, histories, beginnings, asideFiles } = await nodeA(t, THEIRS(0), 'it differs')
  node.log.halt('it differs')
  await histories.look(undefined)
  t.same([beginnings(), asideFiles().length], [1, 1])
})

t.test('of two histories the unchanged one gives way', async (t) => {
  const unchanged = await nodeA(t, THEIRS(1))
  await unchanged.takeOver()
  await unchanged.histories.look(ALONE)
  t.same([unchanged.beginnings(), unchanged.asideFiles()], [1, []])
  const changed = await nodeA(t, THEIRS(0))
  await changed.takeOver()
  await changed.node.store.write(staged('more', 1))
  await changed.histories.look(ALONE)
  t.same([changed.beginnings(), changed.histories.parted], [0, undefined], 'and the other one waits for it')
})

t.test('a node that has restarted says so, and no other gives way to it', async (t) => {
  const { histories, takeOver, comesBack, beginnings } = await nodeA(t, { ...THEIRS(0), givesWay: true })
  await takeOver()
  await histories.look(ALONE)
  t.equal(beginnings(), 0)
  const question = { takeovers: THEIRS(0).takeovers }
  t.match(await histories.answer(question), { givesWay: false })
  comesBack()
  t.match(await histories.answer(question), { givesWay: true })
})

t.test('where both were changed neither continues before a person chooses', async (t) => {
  const { node, histories, takeOver, beginnings, asideFiles } = await nodeA(t, THEIRS(3))
  await refuses(t, 'NOT_FOUND', histories.resolve('b'))
  await takeOver()
  await node.store.write(staged('more', 1))
  await histories.look(ALONE)
  t.same(histories.parted, { nodeId: 'b', since: 2, edits: { here: 1, there: 3 } })
  t.throws(() => histories.admit(staged('a', 1)), { code: 'NO_QUORUM' })
  t.doesNotThrow(() => histories.admit({ op: 'put', table: 'sessions', puts: [], removed: [] }), 'users log in')
  await refuses(t, 'INVALID_BODY', histories.resolve('c'))
  await refuses(t, 'NODE_UNREACHABLE', histories.resolve('a'))
  t.same(beginnings(), 0)
  await histories.resolve('b')
  t.same([beginnings(), asideFiles().length], [1, 1])
})

t.test('where both are told to give way, one after another, only one does', async (t) => {
  let other = THEIRS(3)
  const { node, histories, takeOver, beginnings } = await nodeA(t, async () => other)
  await takeOver()
  await node.store.write(staged('more', 1))
  await histories.look(ALONE)
  other = { ...other, givesWay: true }
  await refuses(t, 'IN_USE', histories.resolve('b'))
  t.match(await histories.answer({ takeovers: other.takeovers }), { givesWay: false })
  t.equal(beginnings(), 0)
})

t.test('no node gives way to one that does not answer', async (t) => {
  let other = async () => THEIRS(3)
  const { node, histories, takeOver, beginnings } = await nodeA(t, () => other())
  await takeOver()
  await node.store.write(staged('more', 1))
  await histories.look(ALONE)
  other = () => Promise.reject(new Error('it is off'))
  await refuses(t, 'NODE_UNREACHABLE', histories.resolve('b'))
  t.same([beginnings(), histories.givesWay], [0, false])
})

t.test('while it asks the other one it answers that it gives way itself', async (t) => {
  let said: HistoryTold | undefined
  const { node, histories, takeOver, beginnings } = await nodeA(t, async () => {
    if (histories.parted !== undefined) said = await histories.answer({ takeovers: THEIRS(3).takeovers })
    return THEIRS(3)
  })
  await takeOver()
  await node.store.write(staged('more', 1))
  await histories.look(ALONE)
  await histories.resolve('b')
  t.match([said, beginnings()], [{ givesWay: true }, 1])
})

t.test('removing the other one is a choice', async (t) => {
  const { node, members, histories, takeOver } = await nodeA(t, THEIRS(3))
  await takeOver()
  await node.store.write(staged('more', 1))
  await histories.look(ALONE)
  t.throws(() => histories.admit(staged('a', 1)), { code: 'NO_QUORUM' })
  const mark = { stage: 'marked', at: 'now', by: 'a', isLeaving: false, keyId: 'k' }
  await members.remove(() => ({ member: members.get('b'), ...mark }) as never)
  t.equal(histories.parted, undefined)
  t.doesNotThrow(() => histories.admit(staged('a', 1)))
  await refuses(t, 'NOT_FOUND', histories.resolve('a'))
})

t.test('a node that is told that the other one continues gives way', async (t) => {
  const { histories, takeOver, beginnings } = await nodeA(t, THEIRS(3))
  await takeOver()
  t.match(await histories.answer({ takeovers: [made(2, 'b', 2)] }), { edits: 0, givesWay: false })
  t.match(await histories.answer({ takeovers: [made(2, 'b', 2)], giveWay: true }), { givesWay: true })
  t.equal(beginnings(), 1)
})
