/**
 * Longest time without an answer over HTTP when a floating IP moves from one node to another, compared, in turn, with a
 * keepalived configured by hand with the same timers. Nodes are network namespaces of this machine.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ALIVE_TEXT } from '../src/drivers/vrrp/render.ts'
import { FLOATING, type Lab, type LabNode, servingLab, vrrpLab, vrrpObstacle } from '../test/labs/vrrp-lab.ts'
import { spread, table } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(3, 1)
const ASK_EVERY_MS = 10
const COMES_BACK_MS = 2_500
/** Linux ignores another neighbour answer for an address within a second of the last one (`locktime`). */
const KNOWN_MS = 1_200

/** An event that takes the address from the first node. `isOurs` marks events that need a daemon. */
interface Case {
  readonly title: string
  readonly goal_ms: number
  readonly isOurs?: true
  readonly begin: (side: Side) => Promise<void>
  readonly mend: (side: Side) => Promise<void>
}

export interface Side {
  readonly lab: Lab
  readonly first: LabNode
  readonly second: LabNode
  readonly give: (from: LabNode) => Promise<void>
}

const nothing = async () => undefined

const CASES: readonly Case[] = [
  { title: 'planned move', goal_ms: 300, begin: ({ first, give }) => give(first), mend: nothing },
  {
    title: 'maintenance, as before an update or a halt',
    goal_ms: 300,
    isOurs: true,
    begin: ({ first }) => first.tell('maintain', { isLeaving: true }),
    mend: ({ first }) => first.tell('maintain', { isLeaving: false }),
  },
  {
    title: 'link lost',
    goal_ms: 600,
    begin: ({ first }) => first.link('down'),
    mend: ({ first }) => first.link('up'),
  },
  {
    title: 'HAProxy killed',
    goal_ms: 1_000,
    begin: ({ first }) => first.killHaproxy(),
    mend: async ({ first }) => first.startHaproxy(),
  },
  {
    title: 'node off',
    goal_ms: 1_000,
    begin: async ({ first }) => {
      await first.cut()
      await first.link('down')
    },
    mend: async ({ first }) => {
      await first.link('up')
      await first.heal()
    },
  },
  {
    title: 'HAProxy killed while the daemon hangs',
    goal_ms: 3_000,
    isOurs: true,
    begin: async ({ first }) => {
      first.daemon?.kill('SIGSTOP')
      await first.killHaproxy()
    },
    mend: async ({ first }) => {
      first.startHaproxy()
      first.daemon?.kill('SIGCONT')
    },
  },
]

function sideOf(lab: Lab, give: Side['give']): Side {
  const [first, second] = lab.nodes
  if (first === undefined || second === undefined) throw new Error('there are two')
  return { lab, first, second, give }
}

const ours = async (test: Parameters<typeof servingLab>[0]): Promise<Side> =>
  sideOf(await servingLab(test), (from) => from.tell('yield', { syncGroup: 'all' }))

/** A setup as in a manual: unicast, a script each second, and a move by a restart of keepalived. */
async function plain(test: Parameters<typeof servingLab>[0]): Promise<Side> {
  const lab = await vrrpLab(test)
  const start = (node: LabNode) => {
    const files = ['--pid', '/run/plain.pid', '--vrrp_pid', '/run/plain-vrrp.pid']
    const at = join(node.folder, 'plain.conf')
    return node.start(['chrt', '--rr', '50', 'keepalived', '--dont-fork', '--vrrp', '--use-file', at, ...files])
  }
  const running = new Map<LabNode, ReturnType<typeof start>>()
  for (const [at, node] of lab.nodes.entries()) {
    await node.prepare([`10.0.0.${11 + at}/24`, `fd00::${11 + at}/64`])
    writeFileSync(join(node.folder, 'alive'), ALIVE_TEXT)
    writeFileSync(join(node.folder, 'plain.conf'), plainFile(node.folder, at))
    node.startHaproxy()
    running.set(node, start(node))
    // The first node holds the addresses.
    if (at === 0) await lab.untilOn(node)
  }
  return sideOf(lab, async (from) => {
    const child = running.get(from)
    const ended = new Promise((resolve) => child?.once('exit', resolve))
    child?.kill('SIGTERM')
    await ended
    running.set(from, start(from))
  })
}

const plainFile = (folder: string, at: number): string => `global_defs {
    vrrp_version 3
    enable_script_security
    script_user root root
}
vrrp_script alive {
    script "/bin/sh ${folder}/alive haproxy:/run/haproxy.pid"
    interval 1
    timeout 2
    fall 1
    rise 1
}
vrrp_sync_group all {
    group {
        a
        b
    }
    track_script {
        alive
    }
}
${['a', 'b']
  .map(
    (name) => `vrrp_instance ${name} {
    state BACKUP
    nopreempt
    interface eth0
    virtual_router_id 51
    priority ${200 - 10 * at}
    advert_int 0.19
    unicast_src_ip ${name === 'a' ? `10.0.0.${11 + at}` : `fd00::${11 + at}`}
    unicast_peer {
        ${name === 'a' ? `10.0.0.${12 - at}` : `fd00::${12 - at}`}
    }
    virtual_ipaddress {
        ${name === 'a' ? `${FLOATING[0]}/24` : `${FLOATING[1]}/64`} dev eth0
    }
}
`,
  )
  .join('')}`

async function measure(side: Side, { begin, mend }: Case): Promise<number> {
  const { lab, first, second, give } = side
  const { longest_ms } = await lab.gap(ASK_EVERY_MS, async () => {
    await sleep(KNOWN_MS)
    await begin(side)
    await lab.untilOn(second)
    // Gives the last waiting request time for its answer.
    await sleep(500)
  })
  await mend(side)
  await sleep(COMES_BACK_MS)
  await give(second)
  await lab.untilOn(first)
  await sleep(COMES_BACK_MS)
  return longest_ms
}

/** Runs the work with two nodes of Fulcrum and two of a plain keepalived, and ends them afterwards. */
export async function onBothSides(title: string, work: (sides: readonly [Side, Side]) => Promise<void>): Promise<void> {
  const obstacle = await vrrpObstacle()
  if (obstacle !== undefined) return console.log(`\n### ${title}\n\nnot measured: ${obstacle}`)
  const ends: (() => unknown)[] = []
  const test = { teardown: (end: () => unknown) => void ends.push(end) }
  try {
    await work([await ours(test), await plain(test)])
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

export const run = (): Promise<void> =>
  onBothSides('Floating IPs', async (sides) => {
    const rows = []
    for (const one of scaled(CASES, CASES.slice(0, 1))) {
      const gaps: [number[], number[]] = [[], []]
      for (let round = 0; round < ROUNDS; round++) {
        gaps[0].push(await measure(sides[0], one))
        if (one.isOurs === undefined) gaps[1].push(await measure(sides[1], one))
      }
      const [own, others] = gaps
      const reached = Math.max(...own) <= one.goal_ms ? '' : ', missed'
      rows.push([
        one.title,
        `≤ ${one.goal_ms}${reached}`,
        spread(own, 0),
        others.length === 0 ? '–' : spread(others, 0),
      ])
    }
    const head = ['what', 'goal, ms', 'Fulcrum, ms (range)', 'plain keepalived, ms (range)']
    table('Floating IPs: the longest time without an answer over HTTP', head, rows)
  })
