/** Time until one of two nodes works alone, after a takeover by an administrator and after an automatic one. */
import { setTimeout as wait } from 'node:timers/promises'
import {
  beginningsOf,
  begunAnew,
  type ClusterDaemon,
  ClusterDaemons,
  form,
  join,
} from '../test/fixtures/cluster-daemons.ts'
import { addRip, allVote, die } from '../test/fixtures/cluster-sight.ts'
import { spread, table, timed } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(3, 1)
const TAKEOVER_AFTER_S = 5
const AGAIN_MS = 20

/** Waits until the node accepts an edit. */
async function untilEdited({ daemon }: ClusterDaemon, name: string): Promise<void> {
  const body = { name, ip: '192.0.2.1', port: 80 }
  while ((await daemon.call('POST', '/ipvsDirector/rips', { body })).status !== 201) await wait(AGAIN_MS)
}

/** Restarts the lost node, and waits until it has adopted the other node's state. */
async function back(node: ClusterDaemon, other: ClusterDaemon): Promise<void> {
  const before = beginningsOf(node)
  await node.daemon.start()
  await begunAnew(node, before + 1)
  await node.daemon.login()
  await allVote(other, 2)
}

export async function run(): Promise<void> {
  const ends: (() => unknown)[] = []
  const daemons = await ClusterDaemons.begin({ teardown: (end) => void ends.push(end) })
  if (typeof daemons === 'string') return console.log(`\nTakeover: not measured: ${daemons}`)
  try {
    const [left, right] = [await daemons.start(), await daemons.start()]
    await form(left, 'left')
    await join(right, 'right', left)
    await allVote(left, 2)
    await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: TAKEOVER_AFTER_S })
    const [asked_ms, edited_ms, alone_ms]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < ROUNDS; round += 1) {
      await addRip(left, `both-${round}`)
      await die(left)
      const began_ms = performance.now()
      const body = { partnerIsOff: 'left', reason: 'measured' }
      asked_ms.push(await timed(() => right.daemon.data('PUT', '/cluster/takeover', body)))
      await untilEdited(right, `asked-${round}`)
      edited_ms.push(performance.now() - began_ms)
      await back(left, right)
      await die(right)
      alone_ms.push(await timed(() => untilEdited(left, `alone-${round}`)))
      await back(right, left)
    }
    table(
      'Takeover of a pair',
      ['what', 'goal, ms', 'ms (range)'],
      [
        ['PUT /cluster/takeover answers', '≤ 5000', spread(asked_ms, 0)],
        ['the same, until an edit is answered', '≤ 5000', spread(edited_ms, 0)],
        [
          `the preferred node takes over unasked, including its wait of ${TAKEOVER_AFTER_S} s`,
          '–',
          spread(alone_ms, 0),
        ],
      ],
    )
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

if (import.meta.main) await run()
