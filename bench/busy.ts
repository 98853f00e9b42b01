/**
 * Whether floating IPs move without a failure on a badly overloaded machine: two nodes of Fulcrum and two with a
 * keepalived configured by hand, side by side, while endless loops take every processor.
 * `FULCRUM_BENCH_BUSY=8:1200,32:1200` gives the numbers of loops, and the seconds for each.
 */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lab } from '../test/labs/vrrp-lab.ts'
import { onBothSides } from './failover.ts'
import { table } from './measure.ts'
import { scaled } from './scale.ts'

const RUNS = process.env['FULCRUM_BENCH_BUSY'] ?? scaled('8:60,32:60', '2:1')
const ASK_EVERY_MS = 20

interface Moves {
  /** How often the kernel of a node gained or lost an address. */
  count: number
}

/** Counts changes of addresses from now on. */
function movesIn({ nodes }: Lab): Moves {
  const moves: Moves = { count: 0 }
  for (const node of nodes)
    node.start(['ip', '-o', 'monitor', 'address']).stdout?.on('data', (text: Buffer) => {
      moves.count += String(text).split('\n').length - 1
    })
  return moves
}

/** Starts endless loops; the returned function ends them. */
function busy(loops: number): () => void {
  const children = Array.from({ length: loops }, () =>
    spawn('setpriv', ['--pdeathsig', 'KILL', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  return () => children.forEach((child) => child.kill('SIGKILL'))
}

export const run = (): Promise<void> =>
  onBothSides('Busy nodes', async (sides) => {
    const moves = sides.map(({ lab }) => movesIn(lab))
    const rows = []
    for (const [loops = 0, seconds = 0] of RUNS.split(',').map((one) => one.split(':').map(Number))) {
      const before = moves.map(({ count }) => count)
      const end = busy(loops)
      const gaps = await Promise.all(sides.map(({ lab }) => lab.gap(ASK_EVERY_MS, () => sleep(seconds * 1_000))))
      end()
      rows.push([
        `${loops} loops, ${seconds} s`,
        ...moves.map(({ count }, at) => `${count - (before[at] ?? 0)}`),
        ...gaps.map(({ longest_ms }) => longest_ms.toFixed(0)),
      ])
    }
    const head = [
      '',
      'moves of Fulcrum',
      'of plain keepalived',
      'longest time without an answer, ms',
      'of plain keepalived',
    ]
    table('Floating IPs on a busy machine', head, rows)
  })

if (import.meta.main) await run()
