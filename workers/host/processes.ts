import { readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

// The kernel answers from memory, so these reads are synchronous: as promises, a look at a hundred processes took
// twenty times as much of the processor, and while HAProxy ends there is one every 10 ms.
const POLL_MS = 10
/** `num_threads`, the twentieth field of `stat` in proc(5), among those from the third on. */
const THREADS = 17

/** Returns the words that a process was started with; none when it has ended. */
export function commandLine(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

export interface FoundProcess {
  readonly pid: number
  readonly parent: number
}

/**
 * Returns the processes whose command line `fits`, except those in containers: they have another root, where the same
 * path is another file.
 */
export function findProcesses(fits: (words: readonly string[]) => boolean): readonly FoundProcess[] {
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
  const here = rootOf('self')
  const found: FoundProcess[] = []
  for (const pid of pids) {
    if (!fits(commandLine(pid)) || rootOf(pid) !== here) continue
    const parent = parentOf(pid)
    if (parent !== undefined) found.push({ pid, parent })
  }
  return found
}

/**
 * Waits until the signalled processes have ended and `find` finds no other one. Returns false if some are left after
 * `timeout_ms`.
 */
export async function areGone(
  signalled: readonly number[],
  find: () => readonly unknown[],
  timeout_ms: number,
): Promise<boolean> {
  const deadline_ms = performance.now() + timeout_ms
  while (find().length > 0 || signalled.some(isEnding)) {
    if (performance.now() > deadline_ms) return false
    await wait(POLL_MS)
  }
  return true
}

/**
 * Returns whether a process is exiting and may still hold its ports and locks: the kernel frees its memory, and its
 * command line with it, before it closes its files. They are closed when the last thread is a zombie (Z) or dead (X).
 */
export function isEnding(pid: number): boolean {
  if (commandLine(pid).some((word) => word !== '')) return false
  const fields = fieldsOf(pid)
  if (fields === undefined) return false
  return !['Z', 'X'].includes(fields[0] ?? '') || Number(fields[THREADS]) > 1
}

function rootOf(pid: number | 'self'): string | undefined {
  try {
    const { dev, ino } = statSync(`/proc/${pid}/root/`)
    return `${dev}:${ino}`
  } catch {
    // The process has ended, or belongs to another account and is not ours.
    return undefined
  }
}

function parentOf(pid: number): number | undefined {
  const parent = fieldsOf(pid)?.[1]
  return parent === undefined ? undefined : Number(parent)
}

/** Returns the fields of `stat` in proc(5) from the third on: state, parent and so on. */
function fieldsOf(pid: number): readonly string[] | undefined {
  try {
    // The name in parentheses may contain anything, so the fields begin after the last parenthesis.
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return line.slice(line.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
