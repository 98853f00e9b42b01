import { readFileSync } from 'node:fs'

/** Index in /proc/PID/stat, counted after the name of the program, which may contain spaces and brackets. */
const START_FIELD = 19

/** Returns the boot id as this process sees it: in a container, another process may see a different one. */
export function bootIdHere(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** `bootId` is the one that the later reader will see. */
export function ownMark(bootId: string): ProcessMark {
  return { pid: process.pid, startedAt: startOf(process.pid) ?? '', bootId }
}

/** Identifies this boot of the machine or container by its first process. */
export function machineMark(): ProcessMark {
  return { pid: 1, startedAt: startOf(1) ?? '', bootId: bootIdHere() }
}

export function isAlive({ pid, startedAt, bootId }: ProcessMark): boolean {
  return startOf(pid) === startedAt && bootIdHere() === bootId
}

/** Undefined if there is no such process, or only its zombie is left. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[START_FIELD]
  } catch {
    return undefined
  }
}

/** Identifies a process, even if its number is reused or the machine restarts. */
export interface ProcessMark {
  readonly pid: number
  /** Ticks since boot. */
  readonly startedAt: string
  /** Boot id, as the daemon sees it. */
  readonly bootId: string
}
