import { readFileSync } from 'node:fs'

/** Index in /proc/PID/stat, counted after the name of the program, which may contain spaces and brackets. */
const START_FIELD = 19

/** This start of the machine, as this process sees it: another one may see another text, in a container. */
export function bootIdHere(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** `bootId` as the later reader will see it. */
export function ownMark(bootId: string): ProcessMark {
  return { pid: process.pid, startedAt: startOf(process.pid) ?? '', bootId }
}

/** This run of the machine: another one, of a container as well, has another first process. */
export function machineMark(): ProcessMark {
  return { pid: 1, startedAt: startOf(1) ?? '', bootId: bootIdHere() }
}

export function isAlive({ pid, startedAt, bootId }: ProcessMark): boolean {
  return startOf(pid) === startedAt && bootIdHere() === bootId
}

/** undefined when there is no such process, or nothing but its entry is left. */
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
  /** Ticks after the start of the machine. */
  readonly startedAt: string
  /** Id of the start of the machine, as the daemon sees it. */
  readonly bootId: string
}
