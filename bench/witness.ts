/** Memory that a witness takes on its machine: its daemon and its etcd member. */
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { ClusterDaemons, form, join } from '../test/fixtures/cluster-daemons.ts'
import { allVote } from '../test/fixtures/cluster-sight.ts'
import { etcdOf } from '../test/fixtures/etcd-programs.ts'
import { createReals } from './daemon.ts'
import { spread, table } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(2, 1)
const RECORDS = scaled(100, 20)
const EDITS = scaled(500, 5)
const IDLE_MS = scaled(15_000, 100)

/**
 * Returns the megabytes of a process: its private memory, and its proportional share (private memory and a part of the
 * pages it shares).
 */
function memoryOf(pid: number): { readonly private_mb: number; readonly pss_mb: number } {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const of = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) / 1024
  return { private_mb: of('Private_Dirty') + of('Private_Clean'), pss_mb: of('Pss') }
}

export async function run(): Promise<void> {
  const seen = new Map<string, { readonly daemon: number[]; readonly etcd: number[] }>()
  const note = (what: string, daemon: number, etcd: number) => {
    const row = seen.get(what) ?? { daemon: [], etcd: [] }
    row.daemon.push(daemon)
    row.etcd.push(etcd)
    seen.set(what, row)
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const ends: (() => unknown)[] = []
    const daemons = await ClusterDaemons.begin({ teardown: (end) => void ends.push(end) })
    if (typeof daemons === 'string') return console.log(`\nWitness: not measured: ${daemons}`)
    try {
      const [left, right, witness] = [await daemons.start(), await daemons.start(), daemons.witness()]
      await form(left, 'left')
      await join(right, 'right', left)
      await allVote(left, 2)
      witness.start()
      await witness.says(/waits for a token/)
      const { token } = await left.daemon.data('POST', '/cluster/tokens', { role: 'witness' })
      await witness.hand(token)
      await witness.says(/votes in the cluster/)
      const look = (when: string) => {
        const [daemon, etcd] = [memoryOf(witness.pid), memoryOf(etcdOf(witness.state)[0] ?? 0)]
        note(`${when}, private`, daemon.private_mb, etcd.private_mb)
        note(`${when}, Pss`, daemon.pss_mb, etcd.pss_mb)
      }
      await wait(IDLE_MS)
      look('idle')
      const [ripId] = await createReals(left.daemon, RECORDS)
      for (let n = 0; n < EDITS; n += 1)
        await left.daemon.data('PUT', `/ipvsDirector/rips/${ripId}`, { port: 8000, weight: 1 + (n % 200) })
      await wait(IDLE_MS)
      look(`after ${RECORDS} records and ${EDITS} edits`)
    } finally {
      for (const end of ends.toReversed()) await end()
    }
  }
  const sum = ({ daemon, etcd }: { readonly daemon: number[]; readonly etcd: number[] }) =>
    spread(
      daemon.map((mb, i) => mb + (etcd[i] ?? 0)),
      0,
    )
  table(
    'Witness: memory, MB',
    ['', 'its daemon', 'its etcd', 'together'],
    [...seen].map(([what, row]) => [what, spread(row.daemon, 0), spread(row.etcd, 0), sum(row)]),
  )
}

if (import.meta.main) await run()
