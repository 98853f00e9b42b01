import { readFileSync } from 'node:fs'
import type { ProcessMark } from '../../workers/detached/plan.ts'

const BOOT_ID = '/proc/sys/kernel/random/boot_id'
/** Of /proc/PID/stat, counted after the name of the program, which may hold spaces and brackets. */
const START_FIELD = 19

export function ownMark(): ProcessMark {
  return { pid: process.pid, startedAt: startOf(process.pid) ?? '', bootId: readFileSync(BOOT_ID, 'utf8').trim() }
}

export function isAlive({ pid, startedAt, bootId }: ProcessMark): boolean {
  return startOf(pid) === startedAt && readFileSync(BOOT_ID, 'utf8').trim() === bootId
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
