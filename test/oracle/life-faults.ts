import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../fixtures/until.ts'
import { gone } from '../system/serving-daemon.ts'
import { endFault, type Play } from './life-cast.ts'
import { fill, haproxyPids, untilServed } from './life-world.ts'

/** The longest outage of HAProxy after a fault, on a loaded machine. */
const OUTAGE_MS_MAX = 300_000

/** A fault of the daemon or its HAProxy. Returns whether traffic may have failed meanwhile. */
type Fault = (play: Play) => Promise<boolean>

async function restarted(play: Play): Promise<void> {
  const { daemon } = play.world
  await daemon.kill('SIGKILL')
  await daemon.start()
  await daemon.login()
}

/** Sends the process a signal, and waits for traffic through another one. */
async function struck(play: Play, whom: 'master' | 'worker', signal: NodeJS.Signals): Promise<boolean> {
  const pids = await haproxyPids(play.world).catch(() => undefined)
  const pid = pids?.[whom] ?? 0
  if (pid <= 0) return false
  process.kill(pid, signal)
  const isAnother = async () => {
    const now = await haproxyPids(play.world).catch(() => undefined)
    return now !== undefined && now[whom] > 0 && now[whom] !== pid
  }
  await until('another HAProxy', isAnother, Boolean, OUTAGE_MS_MAX)
  // Until it is gone, a hanging one gets its share of connections, and a killed one may serve for a moment.
  await gone(pid)
  await untilServed(play.world, OUTAGE_MS_MAX)
  return true
}

export const FAULTS: Readonly<Record<string, Fault>> = {
  async 'kill of the daemon'(play) {
    await restarted(play)
    return false
  },
  async 'full disk'(play) {
    const empty = fill(play.world.disk)
    await sleep(500 + play.random() * 1_500)
    const more = fill(play.world.disk)
    // A login must succeed, so that space can be freed, whatever was refused before.
    await play.world.daemon.login().catch((error: unknown) => play.problems.push(`on a full disk: ${String(error)}`))
    empty()
    more()
    return false
  },
  async 'full disk at a start'(play) {
    const empty = fill(play.world.disk)
    await restarted(play).catch((error: unknown) => play.problems.push(`on a full disk: ${String(error)}`))
    empty()
    return false
  },
  'hung worker': (play) => struck(play, 'worker', 'SIGSTOP'),
  'killed worker': (play) => struck(play, 'worker', 'SIGKILL'),
  'killed HAProxy': (play) => struck(play, 'master', 'SIGKILL'),
  async 'hung worker, then a kill of the daemon'(play) {
    const { worker } = await haproxyPids(play.world)
    // 0 would be this process and its group.
    if (worker > 0) process.kill(worker, 'SIGSTOP')
    await sleep(play.random() * 4_000)
    await restarted(play)
    if (worker > 0) await gone(worker)
    await untilServed(play.world, OUTAGE_MS_MAX)
    return true
  },
}

/** Carries out a fault, and returns the time in which traffic may have failed; undefined: at no time. */
export async function strike(play: Play, name: string): Promise<readonly [number, number] | undefined> {
  const begin = performance.now()
  play.fault = name
  const mayFail = await FAULTS[name]?.(play)
  endFault(play, 10_000)
  return mayFail === true ? [begin - 1_000, performance.now() + 1_000] : undefined
}
