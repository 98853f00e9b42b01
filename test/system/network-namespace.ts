import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Test } from 'tap'
import { findProgram } from '../../workers/host/programs.ts'
import { runProgram } from '../../workers/host/linux-host.ts'
import type { Run } from '../../workers/host/managed-program.ts'
import { until } from '../fixtures/until.ts'

/** Network namespaces of a test; nothing here touches the machine's network. */

const TIMEOUT_MS = 120_000

/** Returns why this machine cannot have them; undefined when it can. */
export async function namespaceObstacle(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'needs root'
  for (const program of ['ip', 'nsenter', 'ping']) {
    if ((await findProgram(program)) === undefined) return `${program} is not installed`
  }
  const name = `probe-${randomBytes(4).toString('hex')}`
  const { code } = await command(['ip', 'netns', 'add', name])
  if (code !== 0) return 'this machine makes no network namespaces'
  await command(['ip', 'netns', 'del', name])
  return undefined
}

function command(argv: readonly string[], input = ''): Promise<{ code: number; output: string }> {
  const [program = '', ...args] = argv
  return new Promise((resolve) => {
    const child = execFile(program, args, { timeout: TIMEOUT_MS, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: `${stdout}${stderr}` })
    })
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
  })
}

export interface Namespace {
  readonly name: string
  /** Runs programs inside. */
  readonly run: Run
  /** Runs commands of `ip`, one per line; throws when one is refused. */
  ip(...lines: readonly string[]): Promise<void>
  ip6(...lines: readonly string[]): Promise<void>
  /** Returns the standard output of one program; throws when it fails. */
  output(...argv: readonly string[]): Promise<string>
}

/** A namespace that ends with the test. */
export async function namespace(test: Pick<Test, 'teardown'>, label = 'n'): Promise<Namespace> {
  const name = `fulcrum-${label}-${randomBytes(4).toString('hex')}`
  const path = `/run/netns/${name}`
  const added = await command(['ip', 'netns', 'add', name])
  if (added.code !== 0) throw new Error(added.output)
  test.teardown(() => command(['ip', 'netns', 'del', name]))
  // Entering a missing namespace would mean the machine itself.
  if (!existsSync(path)) throw new Error(`${path} is missing`)
  const enter = ['nsenter', `--net=${path}`] as const
  const batch = async (family: string, lines: readonly string[]) => {
    const { code, output } = await command([...enter, 'ip', family, '-batch', '-'], `${lines.join('\n')}\n`)
    if (code !== 0) throw new Error(`${lines.join('; ')}: ${output}`)
  }
  await batch('-4', ['link set lo up'])
  return {
    name,
    run: (argv, timeout_ms, options) => runProgram([...enter, ...argv], timeout_ms, options),
    ip: (...lines) => batch('-4', lines),
    ip6: (...lines) => batch('-6', lines),
    output: async (...argv) => {
      const { code, output } = await command([...enter, ...argv])
      if (code !== 0) throw new Error(`${argv.join(' ')}: ${output}`)
      return output.trim()
    },
  }
}

/** A cable: `nameA` in `a`, `nameB` in `b`, both ready, with hardware addresses that depend only on `number`. */
export async function cable(
  a: Namespace,
  nameA: string,
  b: Namespace,
  nameB: string,
  number: number,
): Promise<{ readonly macA: string; readonly macB: string }> {
  const mac = (side: number) =>
    `02:00:00:${side.toString(16).padStart(2, '0')}:00:${number.toString(16).padStart(2, '0')}`
  const [macA, macB] = [mac(1), mac(2)]
  for (const one of [a, b]) await one.output('sysctl', '-qw', 'net.ipv6.conf.default.accept_dad=0')
  await a.ip(`link add ${nameA} address ${macA} type veth peer name ${nameB} netns ${b.name} address ${macB}`)
  await a.ip(`link set ${nameA} up`)
  await b.ip(`link set ${nameB} up`)
  await ready(a, nameA)
  await ready(b, nameB)
  return { macA, macB }
}

/**
 * Resolves when the link is ready: packets pass a moment after both ends are up, and only then does the kernel create
 * its link-local address.
 */
async function ready(of: Namespace, name: string): Promise<void> {
  const own = () => of.output('ip', '-6', '-o', 'address', 'show', 'dev', name, 'scope', 'link')
  await until('its own address', own, (text) => text !== '' && !text.includes('tentative'))
}

/** Fields that differ between two kernels in the same state. */
const CHANCE = new Set(['ifindex', 'link_index', 'link_netnsid', 'stats64', 'valid_life_time', 'preferred_life_time'])

/** Returns the addresses of a namespace in order, its routes and rules, for comparison with another's. */
export async function kernelText(of: Namespace): Promise<Readonly<Record<string, readonly string[]>>> {
  const read = async (...words: readonly string[]) => {
    const text = await of.output('ip', '-j', ...words)
    const entries = JSON.parse(text === '' ? '[]' : text) as readonly object[]
    return entries.map((entry) => JSON.stringify(entry, (key, value: unknown) => (CHANCE.has(key) ? undefined : value)))
  }
  const sorted = async (...words: readonly string[]) => (await read(...words)).toSorted()
  // For a second or two the kernel probes whether an IPv6 address is a duplicate; routes follow.
  const isSettled = (lines: readonly string[]) => !lines.some((line) => line.includes('"tentative":true'))
  const addresses = await until('the end of the probes', () => read('address', 'show'), isSettled)
  return {
    addresses,
    routes4: await sorted('-4', 'route', 'show', 'table', 'all'),
    routes6: await sorted('-6', 'route', 'show', 'table', 'all'),
    rules4: await read('-4', 'rule', 'show'),
    rules6: await read('-6', 'rule', 'show'),
  }
}
