import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalIp, familyOf } from '../../../src/base/ip-network.ts'
import { sendEchoes } from '../../probe/ping.ts'
import type { Run } from '../managed-program.ts'
import { FAMILIES } from './kernel-state.ts'
import { parsedJson } from './links.ts'
import type { TargetAddress } from './target.ts'

interface RawNeighbour {
  readonly dst?: string
  readonly dev?: string
  readonly lladdr?: string
  readonly state?: readonly string[]
}

const READ_TIMEOUT_MS = 5_000
/** A machine on the same network answers within milliseconds. */
const ANSWER_TIMEOUT_MS = 1_000
const POLL_MS = 100
const GROUP_MAX = 100

/**
 * Returns a sentence for each address that another machine already uses. Takes little more than a second for a hundred
 * addresses.
 */
export async function takenAddresses(addresses: readonly TargetAddress[], run: Run): Promise<readonly string[]> {
  return inGroups(addresses, async (group) => {
    const pings = Promise.all(group.map(({ link, ip }) => sendEchoes({ from: link, to: ip, count: 1 }, run)))
    const macs = await resolvedMacs(group, run)
    const answers = await pings
    return group.flatMap((address, index) => {
      const mac = macs.get(keyOf(address))
      if (mac === undefined && answers[index]?.ok !== true) return []
      const who = mac === undefined ? 'another machine answers for it' : `the machine with MAC ${mac} has it`
      return [`${address.ip} on ${address.link} is taken: ${who}`]
    })
  })
}

/** Returns a sentence for each address from which its gateway does not answer. */
export async function silentGateways(addresses: readonly TargetAddress[], run: Run): Promise<readonly string[]> {
  const asked = addresses.flatMap(({ ip, gateway }) => (gateway === undefined ? [] : [{ ip, gateway }]))
  return inGroups(asked, async (group) => {
    const silent = group.map(async ({ ip, gateway }) => {
      const { ok, reason } = await sendEchoes({ from: ip, to: gateway, count: 1 }, run)
      return ok ? [] : [`${ip} cannot reach its gateway ${gateway}: ${reason}`]
    })
    return (await Promise.all(silent)).flat()
  })
}

const keyOf = ({ link, ip }: Pick<TargetAddress, 'link' | 'ip'>) => `${link} ${ip}`

/**
 * Resolves the hardware addresses again. This needs no route and no address of the network, and unlike an echo it is
 * not subject to firewalls.
 */
async function resolvedMacs(addresses: readonly TargetAddress[], run: Run): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set(addresses.map(keyOf))
  const known = (await neighbours(run)).filter((entry) => wanted.has(keyOf(entry)))
  const fixed = new Set(known.filter(({ state }) => state.has('PERMANENT') || state.has('NOARP')).map(keyOf))
  const stale = known.filter((entry) => !fixed.has(keyOf(entry)))
  const asked = addresses.filter((address) => !fixed.has(keyOf(address)))
  for (const family of FAMILIES) {
    const words = ({ ip, link }: Pick<TargetAddress, 'link' | 'ip'>) => `${ip} dev ${link}`
    const lines = [
      ...stale.filter(({ ip }) => familyOf(ip) === family).map((entry) => `neigh del ${words(entry)}`),
      ...asked.filter(({ ip }) => familyOf(ip) === family).map((entry) => `neigh replace ${words(entry)} use`),
    ]
    if (lines.length === 0) continue
    const input = `${lines.join('\n')}\n`
    await run(['ip', `-${family}`, '-force', '-batch', '-'], READ_TIMEOUT_MS, { input })
  }
  return answersOf(new Set(asked.map(keyOf)), run)
}

async function answersOf(asked: ReadonlySet<string>, run: Run): Promise<ReadonlyMap<string, string>> {
  const end_ms = performance.now() + ANSWER_TIMEOUT_MS
  for (;;) {
    const entries = (await neighbours(run)).filter((entry) => asked.has(keyOf(entry)))
    const answered = entries.filter(({ mac, state }) => mac !== undefined && !state.has('FAILED'))
    const open = asked.size - answered.length - entries.filter(({ state }) => state.has('FAILED')).length
    if (open <= 0 || performance.now() > end_ms) {
      return new Map(answered.map((entry) => [keyOf(entry), entry.mac ?? '']))
    }
    await sleep(POLL_MS)
  }
}

async function neighbours(run: Run) {
  const { exitCode, output } = await run(['ip', '-j', 'neigh', 'show'], READ_TIMEOUT_MS, {
    output_max: 16 * 1024 * 1024,
  })
  if (exitCode !== 0) return []
  return parsedJson<RawNeighbour>(output).map(({ dst = '', dev = '', lladdr, state = [] }) => ({
    ip: canonicalIp(dst),
    link: dev,
    mac: lladdr,
    state: new Set(state),
  }))
}

/** Works group by group, because the kernel's neighbour table and the number of processes are limited. */
async function inGroups<T>(
  items: readonly T[],
  work: (group: readonly T[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const found: string[] = []
  for (let at = 0; at < items.length; at += GROUP_MAX) found.push(...(await work(items.slice(at, at + GROUP_MAX))))
  return found
}
