import { readdir, readFile, stat } from 'node:fs/promises'

/** The words that a process was started with; none when it has ended. */
export async function commandLine(pid: number): Promise<readonly string[]> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
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
export async function findProcesses(fits: (words: readonly string[]) => boolean): Promise<readonly FoundProcess[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0)
  const here = await rootOf('self')
  const found: FoundProcess[] = []
  for (const pid of pids) {
    if (!fits(await commandLine(pid)) || (await rootOf(pid)) !== here) continue
    const parent = await parentOf(pid)
    if (parent !== undefined) found.push({ pid, parent })
  }
  return found
}

async function rootOf(pid: number | 'self'): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(`/proc/${pid}/root/`)
    return `${dev}:${ino}`
  } catch {
    // It has ended, or belongs to somebody else: then it is none of ours.
    return undefined
  }
}

async function parentOf(pid: number): Promise<number | undefined> {
  try {
    // The name before it may hold anything, and ends with the last parenthesis.
    const line = await readFile(`/proc/${pid}/stat`, 'utf8')
    return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
