import { setTimeout as wait } from 'node:timers/promises'
import { parseShowProc, type ShowProc, toWorker, type WorkerProcess } from '../../src/drivers/haproxy/cli.ts'
import type { RunResult } from '../../src/drivers/host.ts'
import { sendCommand } from './control-socket.ts'

const ASK_TIMEOUT_MS = 2_000
const POLL_MS = 10
/** A worker that is alive answers in milliseconds. */
const SILENCE_MS = 3_000
const KILLED_GONE_MS = 10_000
const ASKED_AT_ONCE = 2
/** Deadline for a look that kills no worker. */
const LOOK_MS = 1_000
/** A master with 100,000 servers takes some seconds to restart. */
const ROUSED_MS = 30_000

/** Returns the processes of the master behind this socket, or undefined when none answers. */
export async function askProcesses(masterSocket: string): Promise<ShowProc | undefined> {
  try {
    return parseShowProc(await sendCommand(masterSocket, 'show proc', ASK_TIMEOUT_MS))
  } catch {
    // No file, no listener, or a master that is replacing itself: all mean that there is no answer now.
    return undefined
  }
}

/** Polls until `accept` returns a value; undefined when the deadline passed. */
export async function untilProcesses<T>(
  masterSocket: string,
  timeout_ms: number,
  accept: (processes: ShowProc | undefined) => T | undefined,
): Promise<T | undefined> {
  const deadline_ms = performance.now() + timeout_ms
  while (performance.now() < deadline_ms) {
    const accepted = accept(await askProcesses(masterSocket))
    if (accepted !== undefined) return accepted
    await wait(POLL_MS)
  }
  return undefined
}

/** Whether the master and all workers that take connections answer. */
export async function answers(masterSocket: string): Promise<boolean> {
  const processes = await askProcesses(masterSocket)
  return processes !== undefined && (await silentOf(masterSocket, processes.workers, LOOK_MS)).length === 0
}

/**
 * A master that runs and does not answer has lost its socket, has no places for clients left, or hangs. On the reload
 * signal it restarts, with its socket and without those clients. Returns whether it did.
 */
export async function rouse(
  masterSocket: string,
  timeout_ms: number,
  signal: () => Promise<unknown>,
): Promise<boolean> {
  if ((await askProcesses(masterSocket)) !== undefined) return true
  await signal()
  return (await untilProcesses(masterSocket, Math.min(timeout_ms / 2, ROUSED_MS), (now) => now)) !== undefined
}

/**
 * Reloads through the master and waits for the outcome. Version 2.6 answers at once with nothing, so the outcome comes
 * from `show proc`: the count of reloads rises in any case, the worker changes only when the new one has its ports.
 * From 3.0 the answer itself is the outcome.
 */
export async function reloadThroughMaster(
  masterSocket: string,
  timeout_ms: number,
  logSince: () => Promise<string>,
): Promise<RunResult> {
  const before = await askProcesses(masterSocket)
  if (before === undefined) return { exitCode: 1, output: `no HAProxy master answers on ${masterSocket}` }
  const answer = await orderReload(masterSocket, timeout_ms)
  if (answer.includes('Success=0')) return { exitCode: 1, output: answer }
  const outcome = answer.includes('Success=1')
    ? 'loaded'
    : await untilProcesses(masterSocket, timeout_ms, (now) => reloadOutcome(before, now))
  if (outcome === 'loaded') return { exitCode: 0, output: told(await endSilentWorkers(masterSocket, before)) }
  const log = await logSince()
  if (outcome === 'failed') return { exitCode: 1, output: log }
  return { exitCode: 124, output: `HAProxy did not finish its reload within ${timeout_ms} ms\n${log}` }
}

async function orderReload(masterSocket: string, timeout_ms: number): Promise<string> {
  try {
    return await sendCommand(masterSocket, 'reload', timeout_ms)
  } catch {
    // The master of 2.x replaces itself at once and may close before it answers; `show proc` has the outcome.
    return ''
  }
}

/**
 * A hanging old worker keeps its listening sockets, and the kernel still gives it a share of the new connections, which
 * get no answer. A worker that answers ends on its own. Returns the workers that were killed.
 */
async function endSilentWorkers(masterSocket: string, before: ShowProc): Promise<readonly number[]> {
  const pids = await silentOf(masterSocket, [...before.workers, ...before.oldWorkers], SILENCE_MS)
  if (pids.length === 0) return []
  const now = await askProcesses(masterSocket)
  const killed = (now?.oldWorkers ?? []).map(({ pid }) => pid).filter((pid) => pids.includes(pid))
  for (const pid of killed) kill(pid)
  // Until the worker is gone, the kernel may still choose its sockets.
  const isGone = (then: ShowProc | undefined): true | undefined =>
    then === undefined || then.oldWorkers.some(({ pid }) => pids.includes(pid)) ? undefined : true
  await untilProcesses(masterSocket, KILLED_GONE_MS, isGone)
  return killed
}

function told(killed: readonly number[]): string {
  if (killed.length === 0) return ''
  return `a worker of HAProxy (process ${killed.join(', ')}) did not answer for ${SILENCE_MS / 1000} s and was killed`
}

/**
 * Returns the workers that do not answer. Few are asked at a time, because a hanging one occupies one of the ten places
 * that a master has for clients.
 */
async function silentOf(
  masterSocket: string,
  workers: readonly WorkerProcess[],
  silence_ms: number,
): Promise<readonly number[]> {
  const silent: number[] = []
  for (let from = 0; from < workers.length; from += ASKED_AT_ONCE) {
    const some = workers.slice(from, from + ASKED_AT_ONCE)
    const found = await Promise.all(some.map(({ pid }) => isSilent(masterSocket, pid, silence_ms)))
    silent.push(...some.filter((_, index) => found[index]).map(({ pid }) => pid))
  }
  return silent
}

async function isSilent(masterSocket: string, pid: number, silence_ms: number): Promise<boolean> {
  const asked_ms = performance.now()
  try {
    await sendCommand(masterSocket, toWorker({ pid }, 'show info'), silence_ms)
    return false
  } catch {
    // A connection to a worker that has just ended is refused or cut off at once; only the deadline means that it
    // hangs.
    return performance.now() - asked_ms > silence_ms / 2
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process ended at the same moment, or belongs to an account that the daemon may not signal.
  }
}

function reloadOutcome(before: ShowProc, now: ShowProc | undefined): 'loaded' | 'failed' | undefined {
  if (now === undefined || now.master.reloads <= before.master.reloads) return undefined
  const known = new Set([...before.workers, ...before.oldWorkers].map(({ pid }) => pid))
  if (now.workers.some(({ pid }) => !known.has(pid))) return 'loaded'
  return now.master.failed > 0 ? 'failed' : undefined
}
