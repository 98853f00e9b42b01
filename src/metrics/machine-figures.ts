import { readFile, statfs } from 'node:fs/promises'
import { loadavg, uptime } from 'node:os'

/** Figures of the machine that the kernel reports in files. */
export interface MachineFigures {
  readonly uptime_s: number
  /** Load of the last 1, 5 and 15 minutes. */
  readonly load: readonly number[]
  /** Seconds that all processors have spent, by state. */
  readonly cpu_s: ReadonlyMap<string, number>
  readonly memory: { readonly size_bytes: number; readonly available_bytes: number } | undefined
  /** The disk with the daemon's state folder. */
  readonly disk: { readonly size_bytes: number; readonly available_bytes: number } | undefined
  readonly interfaces: readonly InterfaceFigures[]
}

export interface InterfaceFigures {
  readonly name: string
  /** In the order of INTERFACE_FIGURES. */
  readonly values: readonly number[]
}

/** The figures of an interface, by column of /proc/net/dev. */
export const INTERFACE_FIGURES = {
  received_bytes: 0,
  received_packets: 1,
  received_errors: 2,
  received_drops: 3,
  sent_bytes: 8,
  sent_packets: 9,
  sent_errors: 10,
  sent_drops: 11,
} as const

const MODES = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal'] as const
/** The kernel's unit of processor time, on every Linux. */
const TICKS_PER_SECOND = 100
const KIB = 1_024

export function parseCpu(stat: string): ReadonlyMap<string, number> {
  const [, ...ticks] = (stat.split('\n', 1)[0] ?? '').trim().split(/\s+/)
  return new Map(MODES.map((mode, at) => [mode, Number(ticks[at] ?? 0) / TICKS_PER_SECOND]))
}

export function parseMemory(meminfo: string): MachineFigures['memory'] {
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(meminfo)?.[1]) * KIB
  const [size_bytes, available_bytes] = [of('MemTotal'), of('MemAvailable')]
  return Number.isNaN(size_bytes + available_bytes) ? undefined : { size_bytes, available_bytes }
}

export function parseInterfaces(dev: string): readonly InterfaceFigures[] {
  return dev.split('\n').flatMap((line) => {
    const match = /^\s*(\S+):\s*(\d[\d\s]*)$/.exec(line)
    if (match === null) return []
    const columns = (match[2] ?? '').trim().split(/\s+/).map(Number)
    return [{ name: match[1] ?? '', values: Object.values(INTERFACE_FIGURES).map((column) => columns[column] ?? 0) }]
  })
}

const text = (path: string) => readFile(path, 'utf8').catch(() => '')

export async function readMachine(folder: string): Promise<MachineFigures> {
  const [stat, meminfo, dev, disk] = await Promise.all([
    text('/proc/stat'),
    text('/proc/meminfo'),
    text('/proc/self/net/dev'),
    statfs(folder).catch(() => undefined),
  ])
  return {
    uptime_s: uptime(),
    load: loadavg(),
    cpu_s: stat === '' ? new Map() : parseCpu(stat),
    memory: parseMemory(meminfo),
    disk: disk && { size_bytes: disk.blocks * disk.bsize, available_bytes: disk.bavail * disk.bsize },
    interfaces: parseInterfaces(dev),
  }
}
