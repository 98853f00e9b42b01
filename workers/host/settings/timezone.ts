import { existsSync } from 'node:fs'
import { readlink, rename, rm, symlink } from 'node:fs/promises'
import type { RunResult } from '../../../src/drivers/host.ts'
import { readText } from '../durable-files.ts'
import type { Run } from '../managed-program.ts'

export interface ZoneFiles {
  /** Link to a file below `zones`. */
  readonly localtime: string
  /** Debian's file with the name of the zone, for machines whose localtime is a copy. */
  readonly name: string
  readonly zones: string
}
const MACHINE: ZoneFiles = {
  localtime: '/etc/localtime',
  name: '/etc/timezone',
  zones: '/usr/share/zoneinfo',
}
/** Zone of a machine that reports none. */
const NO_ZONE = 'Etc/UTC'

const ZONE = /^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/

/** Returns the zone of a link such as ../usr/share/zoneinfo/Europe/Paris. */
export function zoneOfLink(target: string): string | undefined {
  const zone = /\/zoneinfo\/(?:posix\/)?(.+)$/.exec(target)?.[1]
  return zone !== undefined && ZONE.test(zone) ? zone : undefined
}

export async function readTimezone(files: ZoneFiles = MACHINE): Promise<string | undefined> {
  try {
    const zone = zoneOfLink(await readlink(files.localtime))
    if (zone !== undefined) return zone
  } catch {
    // Not a link: the name is in Debian's file, or nowhere.
  }
  const noted = (await readText(files.name))?.trim() ?? NO_ZONE
  return ZONE.test(noted) ? noted : undefined
}

export async function writeTimezone(
  zone: string,
  run: Run,
  timeout_ms: number,
  files: ZoneFiles = MACHINE,
): Promise<RunResult> {
  if (!ZONE.test(zone)) return { exitCode: 1, output: `${zone} is not a time zone` }
  // Uses D-Bus, which needs no right to write to /etc.
  if (files === MACHINE && existsSync('/run/systemd/system')) {
    return run(['timedatectl', 'set-timezone', zone], timeout_ms)
  }
  const target = `${files.zones}/${zone}`
  if (!existsSync(target)) return { exitCode: 1, output: `there is no ${target}` }
  const fresh = `${files.localtime}.fulcrum`
  await rm(fresh, { force: true })
  await symlink(target, fresh)
  await rename(fresh, files.localtime)
  return { exitCode: 0, output: '' }
}
