import { readFileSync } from 'node:fs'
import { cpu, mem, osInfo } from 'systeminformation'

/** Returns one line about the machine, because figures mean nothing without it. */
export async function environment(): Promise<string> {
  const [processor, memory, system] = await Promise.all([cpu(), mem(), osInfo()])
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ')[0]
  const ram = `${Math.round(memory.total / 2 ** 30)} GiB`
  const { distro, release, kernel } = system
  return `${processor.cores} × ${processor.brand}, ${ram}, ${distro} ${release}, kernel ${kernel}, Node ${process.version}, load ${load}`
}
