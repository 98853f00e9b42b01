/**
 * Addresses and routes: cost of an apply, compared with `ip -batch` with the same lines, which is the time that the
 * kernel needs for them.
 */
import { rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DesiredNetwork } from '../src/drivers/host.ts'
import { namespace, namespaceObstacle } from '../test/system/network-namespace.ts'
import { KernelNetwork } from '../workers/host/network/kernel-network.ts'
import { readInterfaces } from '../workers/probe/interfaces.ts'
import { median, spread, table, timed } from './measure.ts'
import { scaled } from './scale.ts'

const SIZES = scaled<readonly number[]>([10, 200, 1000], [10])
const ROUNDS = scaled(5, 1)
const TIMEOUT_MS = 60_000

const address = (n: number) => `10.${n >> 8}.${n & 255}.1`
const network = (n: number) => `172.${16 + (n >> 8)}.${n & 255}.0/24`

function desired(count: number, interfaceId: string): DesiredNetwork {
  const numbers = Array.from({ length: count }, (_, n) => n)
  return {
    addresses: numbers.map((n) => ({ ip: address(n), prefix: 24, interfaceId, pingCheck: false, gateway: undefined })),
    routes: numbers.map((n) => ({
      type: 'unicast',
      destination: network(n),
      via: `10.${n >> 8}.${n & 255}.254`,
      interfaceId,
      metric: undefined,
      table: 254,
    })),
    rules: [],
  }
}

function batch(count: number): string {
  const numbers = Array.from({ length: count }, (_, n) => n)
  const lines = [
    ...numbers.map((n) => `address add ${address(n)}/24 dev eth0`),
    ...numbers.map((n) => `route replace ${network(n)} via 10.${n >> 8}.${n & 255}.254 dev eth0 proto 70`),
  ]
  return `${lines.join('\n')}\n`
}

/** Measures one round in fresh network namespaces. */
async function round(count: number) {
  const ends: (() => unknown)[] = []
  const test = { teardown: (end: () => unknown) => void ends.push(end) }
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  try {
    const fresh = async () => {
      const node = await namespace(test, 'bench')
      await node.ip('link add eth0 type veth peer name far0', 'link set eth0 up', 'link set far0 up')
      return node
    }
    const plain = await fresh()
    const limit_ms = await timed(() => plain.run(['ip', '-batch', '-'], TIMEOUT_MS, { input: batch(count) }))
    const node = await fresh()
    const card = (await readInterfaces(node.run)).find(({ name }) => name === 'eth0')
    if (card === undefined) throw new Error('no interface')
    const kernel = new KernelNetwork(join(folder, 'network.json'), node.run)
    const make = async (wanted: DesiredNetwork) => {
      for (const phase of ['add', 'settle'] as const) {
        const { exitCode, output } = await kernel.make(wanted, phase, TIMEOUT_MS)
        if (exitCode !== 0) throw new Error(output)
      }
    }
    const all = desired(count, card.id)
    const first_ms = await timed(() => make(all))
    const same_ms = await timed(() => make(all))
    const one_ms = await timed(() => make(desired(count + 1, card.id)))
    return { limit_ms, first_ms, same_ms, one_ms }
  } finally {
    for (const end of ends.toReversed()) await end()
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function run(): Promise<void> {
  const obstacle = await namespaceObstacle()
  if (obstacle !== undefined) {
    console.log(`\naddresses and routes were not measured: ${obstacle}`)
    return
  }
  const rows: string[][] = []
  for (const count of SIZES) {
    const rounds = []
    for (let n = 0; n < ROUNDS; n += 1) rounds.push(await round(count))
    const limit = rounds.map(({ limit_ms }) => limit_ms)
    const first = rounds.map(({ first_ms }) => first_ms)
    const ratios = rounds.map(({ first_ms, limit_ms }) => first_ms / limit_ms)
    rows.push([
      `${count} addresses, ${count} routes`,
      spread(limit),
      spread(first),
      `${median(ratios).toFixed(1)} (${Math.min(...ratios).toFixed(1)}–${Math.max(...ratios).toFixed(1)})`,
      spread(rounds.map(({ same_ms }) => same_ms)),
      spread(rounds.map(({ one_ms }) => one_ms)),
    ])
  }
  const head = ['network', '`ip -batch` ms', 'first apply ms', 'ratio', 'nothing to do ms', 'one more of each ms']
  table('Addresses and routes (add and settle, read back from the kernel)', head, rows)
}
