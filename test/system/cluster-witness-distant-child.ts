import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import {
  addRip,
  allVote,
  die,
  etcdAt,
  hasQuorum,
  nodeLeads,
  ripsOf,
  seenBy,
  seesWitness,
} from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'
import { unlessRefused } from '../fixtures/etcd.ts'
import { distantCable } from '../labs/distant-cable.ts'
import { finished } from './debian-tree.ts'
import { namespace } from './network-namespace.ts'

/**
 * Two nodes at one site and a witness at another: packets to it take 50 ms, and answers as long. The nodes share a
 * machine, so each connects from its own address: peers are not recognised by their source address. Everything runs
 * over IPv6.
 */

t.setTimeout(600_000)

const addressOf = (number: number) => `fd00:80::${number}`
const DELAY_MS = 50
const WITNESS = 3
/** A member that hears nothing waits one or two seconds before it starts an election. */
const CALM_MS = 4_000
/** On a busy machine a member may be late once; a distance too long for etcd makes it elect constantly. */
const CALM_TRIES = 8
const EDITS = 20

async function output(program: string, ...words: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await finished(program, words)
  if (exitCode !== 0) throw new Error(`${program} ${words.join(' ')}: ${stderr}`)
  return stdout
}

const rounded = (ms: number) => `${Math.round(ms)} ms`

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}

t.test('the site', async (t) => {
  const daemons = await ClusterDaemons.begin(t, { addressOf: (number) => `[${addressOf(number)}]` })
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  if (Object.keys(networkInterfaces()).length > 0) throw new Error('it needs a network of its own: unshare --net')
  const there = await namespace(t, 'witness')
  await distantCable(t, 'site', there, 'wan', DELAY_MS)
  await output('ip', 'link', 'set', 'lo', 'up')
  await output('ip', 'link', 'set', 'site', 'up')
  for (const node of [1, 2]) await output('ip', 'address', 'add', `${addressOf(node)}/64`, 'dev', 'site', 'nodad')
  // An IPv6 address disappears with the link.
  const plugIn = () => there.ip6('link set wan up', `address add ${addressOf(WITNESS)}/64 dev wan nodad`)
  await plugIn()
  const [, least = ''] = /= ([\d.]+)\//.exec(await output('ping', '-qc', '3', addressOf(WITNESS))) ?? []
  t.ok(Number(least) >= 2 * DELAY_MS, `${least} ms there and back`)

  const [left, right] = [await daemons.start(), await daemons.start()]
  const witness = daemons.witness(['nsenter', `--net=/run/netns/${there.name}`])
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  witness.start()
  await witness.says(/waits for a token/)
  await witness.hand(String((await left.daemon.data('POST', '/cluster/tokens', { role: 'witness' })).token))
  const { witness: shown } = await seesWitness(left, true)
  const etcdOn = (node: ClusterDaemon) => etcdAt(t, node, new ClusterFiles(node.daemon.state))
  const termOf = async (node: ClusterDaemon) => {
    const etcd = etcdOn(node)
    const [at = ''] = (await etcd.members.list()).find(({ name }) => name === node.daemon.node)?.clientUrls ?? []
    return (await etcd.maintenance.status({ at })).raftTerm
  }

  await t.test('edits do not wait for the witness', async (t) => {
    await nodeLeads(left)
    const took: number[] = []
    for (let n = 0; n < EDITS; n++) took.push(await timed(() => addRip(n % 2 === 0 ? left : right, `near-${n}`)))
    const sorted = took.toSorted((a, b) => a - b)
    t.comment(`an edit takes ${rounded(sorted[EDITS / 2] ?? 0)} (up to ${rounded(sorted.at(-1) ?? 0)})`)
    t.equal((await ripsOf(right)).length, EDITS)
  })

  /** Whether there is a while without an election. */
  const isCalm = async (node: ClusterDaemon) => {
    for (let tried = 0; tried < CALM_TRIES; tried += 1) {
      const before = await termOf(node)
      await sleep(CALM_MS)
      if ((await termOf(node)) === before) return true
    }
    return false
  }

  await t.test('no election while nothing happens', async (t) => {
    t.ok(await isCalm(left))
    await nodeLeads(left)
    t.match(await hasQuorum(left), { witness: { isLeader: false }, spareVotes: 1 })
  })

  await t.test('a leading node is killed: the other one continues with the vote of the witness', async (t) => {
    const { nodes } = await nodeLeads(left)
    const [leader, other] = nodes[0].isLeader === true ? [left, right] : [right, left]
    await die(leader)
    const first_ms = await timed(() =>
      until(
        'an edit that is answered',
        () => other.daemon.call('POST', '/ipvsDirector/rips', { body: { name: 'alone', ip: '192.0.2.1', port: 80 } }),
        ({ status }) => status === 201,
      ),
    )
    const next_ms = await timed(() => addRip(other, 'alone too'))
    t.comment(`an edit is answered ${rounded(first_ms)} later, the next one takes ${rounded(next_ms)}`)
    t.ok(next_ms >= 2 * DELAY_MS, 'the witness must have it as well')
    // The witness may have been elected, and hands leadership on.
    await nodeLeads(other)
    t.ok(await isCalm(other), 'no new election')
    t.match(await hasQuorum(other), { epoch: 1, spareVotes: 0 })
    await leader.daemon.start()
    await leader.daemon.login()
    await allVote(other, 2)
    t.equal((await ripsOf(leader)).length, EDITS + 2)
  })

  await t.test('the witness hands leadership on', async (t) => {
    await nodeLeads(left)
    const etcd = etcdOn((await seenBy(left)).nodes[0].isLeader === true ? left : right)
    const listed = await etcd.members.list()
    // etcd checks now and then whether the witness leads, and may miss it: then it answers that it does not know.
    await unlessRefused(etcd.maintenance.moveLeader(listed.find(({ name }) => name === shown.id)?.id ?? ''))
    t.equal((await nodeLeads(left)).witness.isLeader, false)
  })

  await t.test('the cable is cut and repaired: only the witness is missed', async (t) => {
    await there.ip('link set wan down')
    await seesWitness(left, false)
    await addRip(left, 'cut off')
    t.match(await hasQuorum(left), { spareVotes: 0, epoch: 1 })
    await plugIn()
    await seesWitness(left, true)
    await seesWitness(right, true)
  })
  return undefined
})
