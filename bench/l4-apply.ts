/**
 * `npm run bench -- l4-apply`: cost of an apply of Layer 4, compared with keepalived's own check of the same file. For
 * a real kernel, compared with `ipvsadm --restore` of the same table, see bench/l4-appliance.ts.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keepalivedDriver } from '../src/drivers/keepalived/driver.ts'
import type { SectionContents } from '../src/model/sections.ts'
import { viewOf } from '../test/fixtures/view.ts'
import { runTime } from './daemon.ts'
import { farmOf, sharedFarmOf } from './l4-farm.ts'
import { spread, table, timed, whole } from './measure.ts'
import { scaled } from './scale.ts'

const SIZE = scaled({ services: 1_000, reals: 20 }, { services: 10, reals: 20 })
const ROUNDS = scaled(12, 1)
const WARM_UP = scaled(3, 0)

interface Times {
  readonly check: number[]
  readonly whole: number[]
  readonly change: number[]
  readonly verify: number[]
}

async function measured(farm: SectionContents, folder: string): Promise<Times & { readonly bytes: number }> {
  const driver = keepalivedDriver('node')
  const times: Times = { check: [], whole: [], change: [], verify: [] }
  const file = join(folder, 'keepalived.conf')
  let bytes = 0
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    // Fresh records each time, as after a start of the daemon.
    const before: SectionContents = structuredClone(farm)
    const running = viewOf(before)
    const whole_ms = await timed(() => driver.plan(undefined, running, { atLeast: 'reload' }))
    const verify_ms = await timed(() => driver.verify(running))
    const [first, ...others] = before.realServers ?? []
    const drained = first === undefined ? [] : [{ ...first, state: 'drained' as const }, ...others]
    const desired = viewOf({ ...before, realServers: drained })
    const change_ms = await timed(() => driver.plan(running, desired, { atLeast: 'runtime' }))
    const text = driver.render(running)[0]?.content ?? ''
    bytes = text.length
    writeFileSync(file, text)
    const check_ms = await runTime(['keepalived', '--config-test', '--use-file', file])
    if (round < 0) continue
    times.whole.push(whole_ms)
    times.verify.push(verify_ms)
    times.change.push(change_ms)
    times.check.push(check_ms)
  }
  return { ...times, bytes }
}

export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  try {
    const rows: (readonly string[])[] = []
    for (const [name, farm] of [
      ['20,000 real servers, 20 for each', farmOf(SIZE)],
      ['the same 20 real servers for all', sharedFarmOf(SIZE)],
    ] as const) {
      const { check, whole: all, change, verify, bytes } = await measured(farm, folder)
      const ratio = all.map((value, at) => value / (check[at] ?? value))
      rows.push(
        [`${name}: \`keepalived -t\` of the file (${(bytes / 1e6).toFixed(1)} MB)`, spread(check)],
        [`${name}: plan of the whole, first time`, spread(all)],
        [`${name}: the same as a multiple of \`keepalived -t\``, spread(ratio, 2)],
        [`${name}: rules`, spread(verify)],
        [`${name}: plan of one drain`, spread(change)],
      )
    }
    table(`${whole(SIZE.services)} Layer 4 frontends with 20 real servers each`, ['what', 'ms (range)'], rows)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) await run()
