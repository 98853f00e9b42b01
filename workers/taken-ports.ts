import { setTimeout as wait } from 'node:timers/promises'
import type { PortClaim } from '../src/drivers/driver.ts'
import type { Host } from '../src/drivers/host.ts'
import { PROGRAMS } from '../src/drivers/programs.ts'
import { IN_USE, unitsInTheWay } from './host/port-probe.ts'

const ATTEMPTS = 5
const RETRY_MS = 50

interface Taken {
  readonly claim: PortClaim
  readonly problem: string
}

/**
 * Returns the ports on which no program can listen, in HAProxy's words. Tries a few times, because the worker from
 * before a reload may need a moment to release its own.
 */
export async function takenPorts(host: Host, claims: readonly PortClaim[]): Promise<readonly string[]> {
  let taken = await tried(host, claims)
  for (let attempt = 1; attempt < ATTEMPTS && taken.length > 0; attempt++) {
    await wait(RETRY_MS)
    taken = await tried(
      host,
      taken.map(({ claim }) => claim),
    )
  }
  const inUse = taken.some(({ problem }) => problem === IN_USE)
  const listeners = inUse ? await host.listeners() : []
  return taken.flatMap(({ claim: { ip, port, claimant, isInherited }, problem }) => {
    const units = problem === IN_USE ? unitsInTheWay(listeners, ip, port) : []
    const isOwn = units.length > 0 && units.every((unit) => unit === PROGRAMS.layer7proxy.unit)
    if (isInherited === true && isOwn) return []
    const named = units.filter((unit) => unit !== '').join(', ')
    return [
      `[ALERT] : ${claimant}: cannot bind socket (${problem}${named === '' ? '' : ` by ${named}`}) for [${ip}:${port}]`,
    ]
  })
}

async function tried(host: Host, claims: readonly PortClaim[]): Promise<readonly Taken[]> {
  const taken: Taken[] = []
  for (const claim of claims) {
    const problem = await host.portProblem(claim.ip, claim.port)
    if (problem !== undefined) taken.push({ claim, problem })
  }
  return taken
}
