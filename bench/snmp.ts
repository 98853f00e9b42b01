/**
 * Walks of Fulcrum's tables through snmpd, compared with a walk of snmpd's own tables, and their effect on other
 * clients of the API.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../test/fixtures/traffic.ts'
import { latencyAt } from './load.ts'
import { median, spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const execute = promisify(execFile)
const ROUNDS = scaled(3, 1)
const PER_SECOND = scaled(400, 40)
const SECONDS = scaled(4, 1)
const SERVERS = scaled([1_000, 10_000], [100])
const FULCRUM = '.1.3.6.1.4.1.8072.9999.9999.70.1.4'
/** The process table: as many rows as this machine has processes, each column kept by snmpd itself. */
const OWN = '.1.3.6.1.2.1.25.4.2'
const PROGRAMS = { walk: ['snmpwalk'], 'bulk walk': ['snmpbulkwalk', '-Cr50'] } as const
type Kind = keyof typeof PROGRAMS

interface Site {
  readonly agent: string
  readonly ping: string
  stop(): Promise<void>
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill()
  await exit
}

async function start(servers: number): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  mkdirSync(join(folder, 'agent'))
  const [agentPort, httpPort] = [await freePort(), await freePort()]
  const socket = join(folder, 'master')
  const lines = [
    `agentaddress udp:127.0.0.1:${agentPort}`,
    'master agentx',
    `agentxsocket ${socket}`,
    'rocommunity bench',
  ]
  writeFileSync(join(folder, 'snmpd.conf'), `${lines.join('\n')}\n`)
  const env = { PATH: '/usr/sbin:/usr/bin', MIBS: '', SNMP_PERSISTENT_DIR: join(folder, 'agent') }
  const snmpd = spawn('snmpd', ['-C', '-c', join(folder, 'snmpd.conf'), '-f', '-Lf', '/dev/null'], {
    env,
    stdio: 'ignore',
  })
  const program = fileURLToPath(new URL('snmp-node.ts', import.meta.url))
  const args = [join(folder, 'state'), String(httpPort), socket, String(servers)]
  const node = spawn(process.execPath, [...process.execArgv, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface({ input: node.stdout }), 'line')
  const agent = `udp:127.0.0.1:${agentPort}`
  while ((await values(agent, 'walk', '.1.3.6.1.4.1.8072.9999.9999.70.1.1').catch(() => 0)) < 6) await wait(100)
  return {
    agent,
    ping: `http://127.0.0.1:${httpPort}/api/v1/ping`,
    async stop() {
      await ended(node)
      await ended(snmpd)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the number of values in a walk. */
async function values(agent: string, kind: Kind, oid: string): Promise<number> {
  const [program, ...words] = PROGRAMS[kind]
  const argv = [...words, '-v2c', '-c', 'bench', '-Onq', '-t', '5', agent, oid]
  const { stdout } = await execute(program, argv, { env: { PATH: '/usr/bin', MIBS: '' }, maxBuffer: 1 << 28 })
  return stdout.trim().split('\n').length
}

/** Returns the number of values, and the values per second. */
async function rate(agent: string, kind: Kind, oid: string): Promise<readonly [number, number]> {
  const began_ms = performance.now()
  const count = await values(agent, kind, oid)
  return [count, (count * 1000) / (performance.now() - began_ms)]
}

async function walks(servers: number, kind: Kind): Promise<readonly string[]> {
  const site = await start(servers)
  try {
    const [ours, own]: [number[], number[]] = [[], []]
    let count = 0
    for (let round = 0; round < ROUNDS; round++) {
      own.push((await rate(site.agent, kind, OWN))[1])
      const [found, perSecond] = await rate(site.agent, kind, FULCRUM)
      ours.push(perSecond)
      count = found
    }
    const quiet: number[] = []
    const busy: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      quiet.push(await latencyAt({ url: site.ping, headers: {} }, PER_SECOND, SECONDS))
      const until_ms = performance.now() + SECONDS * 1000
      const walking = (async () => {
        while (performance.now() < until_ms) await values(site.agent, kind, FULCRUM)
      })()
      busy.push(await latencyAt({ url: site.ping, headers: {} }, PER_SECOND, SECONDS))
      await walking
    }
    const ratios = ours.map((perSecond, round) => perSecond / (own[round] ?? perSecond))
    return [
      `${whole(servers)} servers, ${kind}`,
      whole(count),
      whole(median(ours)),
      whole(median(own)),
      spread(ratios, 2),
      spread(quiet, 2),
      spread(busy, 2),
    ]
  } finally {
    await site.stop()
  }
}

export async function run(): Promise<void> {
  const rows = []
  for (const servers of SERVERS)
    for (const kind of Object.keys(PROGRAMS) as Kind[]) rows.push(await walks(servers, kind))
  const head = [
    'walk of',
    'values',
    'values/s',
    "values/s of snmpd's own table",
    'ratio',
    'ping p99 ms alone',
    'ping p99 ms beside it',
  ]
  table('SNMP: real servers through AgentX', head, rows)
}
