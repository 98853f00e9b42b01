import { access, constants } from 'node:fs/promises'
import type { RunResult } from '../../src/drivers/host.ts'
import { PROGRAMS } from '../../src/drivers/programs.ts'

/** An ordinary user's PATH often lacks the system folders, where HAProxy is. */
export const PROGRAM_FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin']

/** Debian packages of commands, of the system and of the managed programs. */
const PACKAGES: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  journalctl: 'systemd',
  modprobe: 'kmod',
  ping: 'iputils-ping',
  ss: 'iproute2',
  sysctl: 'procps',
  systemctl: 'systemd',
  timedatectl: 'systemd',
  ...Object.fromEntries(
    Object.values(PROGRAMS).flatMap((program) => program.commands.map((command) => [command, program.package])),
  ),
}

export async function findProgram(name: string): Promise<string | undefined> {
  const candidates = name.includes('/') ? [name] : PROGRAM_FOLDERS.map((folder) => `${folder}/${name}`)
  for (const path of candidates) {
    try {
      await access(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

/** Explains how to install a missing program. */
export function notInstalled(name: string): RunResult {
  const base = name.slice(name.lastIndexOf('/') + 1)
  const command = `apt-get install ${PACKAGES[base] ?? base}`
  return { exitCode: 127, output: `${base} is not installed: run "${command}" as root` }
}
