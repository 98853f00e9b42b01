import { setTimeout as wait } from 'node:timers/promises'
import type { Host, PortClaim } from '../src/drivers/host.ts'

const ATTEMPTS = 5
const RETRY_MS = 50

/**
 * The ports that nobody can listen on, in the words of HAProxy. Tried a few times, because the worker of before a
 * reload may need a moment to let go of its own.
 */
export async function takenPorts(host: Host, claims: readonly PortClaim[]): Promise<readonly string[]> {
  let left = claims
  let problems: string[] = []
  for (let attempt = 0; attempt < ATTEMPTS && left.length > 0; attempt++) {
    if (attempt > 0) await wait(RETRY_MS)
    problems = []
    const failed: PortClaim[] = []
    for (const claim of left) {
      const { ip, port, claimant } = claim
      const problem = await host.portProblem(claim)
      if (problem === undefined) continue
      failed.push(claim)
      problems.push(`[ALERT] : ${claimant}: cannot bind socket (${problem}) for [${ip}:${port}]`)
    }
    left = failed
  }
  return problems
}
