import { readdirSync, readFileSync, statSync } from 'node:fs'

// What the kernel answers from memory is read at once: as promises, a look at a hundred processes took twenty times as
// much of the processor, and while HAProxy ends there is one every 10 ms.

/** The words that a process was started with; none when it has ended. */
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
 * The processes whose command line `fits`. Only of this machine's own files: what runs in a container has another root,
 * where the same path is another file.
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

function rootOf(pid: number | 'self'): string | undefined {
  try {
    const { dev, ino } = statSync(`/proc/${pid}/root/`)
    return `${dev}:${ino}`
  } catch {
    // It has ended, or belongs to somebody else: then it is none of ours.
    return undefined
  }
}

function parentOf(pid: number): number | undefined {
  try {
    // The name before it may hold anything, and ends with the last parenthesis.
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
