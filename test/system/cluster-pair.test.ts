import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join as pathOf } from 'node:path'
import t from 'tap'
import { beginningsOf, begunAnew, type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, die, hasQuorum, historyOf, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Two nodes without a third vote: each is lost once, and then both continue without the other. */

const rip = ({ daemon }: ClusterDaemon, name: string) =>
  daemon.call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } })

/** Resolves when both vote and have the same records. */
async function areOne(left: ClusterDaemon, right: ClusterDaemon, names: readonly string[]): Promise<void> {
  await allVote(left, 2)
  await until(
    'what the other has',
    () => ripsOf(right),
    (found) => found.join() === names.join(),
  )
}

/** Restarts the node after its death. `comesBack`: others have continued, and it begins with their data. */
async function begin(node: ClusterDaemon, { comesBack = false } = {}): Promise<void> {
  const before = beginningsOf(node)
  await node.daemon.start()
  if (comesBack) await begunAnew(node, before + 1)
  await node.daemon.login()
}

t.test('a pair', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = [await daemons.start(), await daemons.start()]
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: 5 })
  const breakGlass = (partnerIsOff: string) =>
    right.daemon.call('PUT', '/cluster/takeover', { body: { partnerIsOff, reason: 'its disk is broken' } })

  await t.test('no node takes over while both run', async (t) => {
    t.match(await breakGlass('third'), { status: 422, json: { errors: [{ field: 'partnerIsOff' }] } })
    t.match(await breakGlass('left'), { status: 409, json: { code: 'IN_USE' } })
    await addRip(right, 'both')
  })

  await t.test('the preferred node continues automatically, and the other one comes back automatically', async (t) => {
    await die(right)
    t.match((await rip(left, 'frozen')).status, 503)
    await historyOf(left, 2)
    await addRip(left, 'preferred')
    await begin(right, { comesBack: true })
    await areOne(left, right, ['both', 'preferred'])
    t.equal((await seenBy(right)).epoch, 2)
  })

  await t.test('the other node continues when a person says so', async (t) => {
    await die(left)
    const taken = await breakGlass('left')
    t.equal(taken.status, 200, taken.text)
    t.match(await hasQuorum(right), { epoch: 3 })
    await addRip(right, 'break-glass')
    const { data } = (await right.daemon.call('GET', '/audit?limit=5')).json
    t.match(JSON.stringify(data), /cluster\/takeover.*its disk is broken/)
  })

  await t.test('two histories: nothing changes until a person chooses; the dropped one becomes a file', async (t) => {
    await die(right)
    await begin(left)
    await historyOf(left, 3)
    await addRip(left, 'alone')
    await begin(right)
    for (const [node, other] of [
      [left, right],
      [right, left],
    ] as const) {
      const { histories } = await until(
        'two histories',
        () => seenBy(node),
        (state) => state.histories !== null,
      )
      t.match(histories, { nodeId: other.daemon.node, edits: { here: 1, there: 1 } })
    }
    const refused = await rip(left, 'refused')
    t.match([refused.status, refused.json.message], [503, /PUT \/cluster\/resolve/])
    const before = beginningsOf(left)
    await left.daemon.data('PUT', '/cluster/resolve', { keep: right.daemon.node })
    await begunAnew(left, before)
    // Sessions are those of the history that stays.
    await left.daemon.login()
    await areOne(right, left, ['both', 'break-glass', 'preferred'])
    await areOne(left, right, ['both', 'break-glass', 'preferred'])
    t.match(await seenBy(left), { epoch: 3, histories: null, halted: null })
    const folder = pathOf(left.daemon.state, 'set-aside')
    const [file = ''] = readdirSync(folder)
    t.equal(statSync(pathOf(folder, file)).mode & 0o777, 0o600)
    t.match(JSON.parse(readFileSync(pathOf(folder, file), 'utf8')).entries.at(-1).entry, {
      op: 'stage',
      writes: [{ value: { name: 'alone' } }],
    })
    await addRip(left, 'together')
  })
  return undefined
})
