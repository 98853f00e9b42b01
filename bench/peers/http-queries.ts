import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runWrk } from '../load.ts'
import type { Rate } from './peer.ts'

const UNITS_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 }

/** Sends one request after the other from a file of paths. */
const SCRIPT = `local requests, n = {}, 0
init = function(args)
  for path in io.lines(args[1]) do requests[#requests + 1] = wrk.format("GET", path) end
end
request = function()
  n = n % #requests + 1
  return requests[n]
end
`

export interface HttpServer {
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
}

/** Returns the body of a 200; throws otherwise. */
export async function getText({ origin, headers }: HttpServer, path: string): Promise<string> {
  const answer = await fetch(`${origin}${path}`, { headers })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 200)}`)
  return text
}

function duration_ms(stdout: string, percent: string): number {
  const [, value, unit = ''] = new RegExp(`^\\s+${percent}%\\s+([\\d.]+)(us|ms|s|m)$`, 'm').exec(stdout) ?? []
  return Number(value) * (UNITS_MS[unit] ?? Number.NaN)
}

/** Returns the rate that wrk reaches with one thread over these paths in turn; every answer must be a 200. */
export async function measureHttp(
  { origin, headers }: HttpServer,
  paths: readonly string[],
  seconds: number,
  clients: number,
): Promise<Rate> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  try {
    const [script, list] = [join(folder, 'paths.lua'), join(folder, 'paths')]
    writeFileSync(script, SCRIPT)
    writeFileSync(list, `${paths.join('\n')}\n`)
    const sent = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    // A single path needs no script, which leaves wrk more of its core.
    const [only = '', ...others] = paths
    const how = others.length === 0 ? [`${origin}${only}`] : ['-s', script, `${origin}/`, '--', list]
    const argv = ['-t1', `-c${clients}`, '--timeout', '20s', '--latency', ...sent, ...how]
    const stdout = await runWrk(seconds, argv)
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${origin}${only}: ${stdout}`)
    const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
    return { perSecond, p50_ms: duration_ms(stdout, '50'), p99_ms: duration_ms(stdout, '99') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
