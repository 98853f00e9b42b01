import type { ClockFacts, ClockTracking } from '../../src/model/machine-facts.ts'
import type { Host } from '../../src/drivers/host.ts'
import { existsSync } from 'node:fs'
import { readText } from '../host/durable-files.ts'
import type { Run } from '../host/managed-program.ts'

const QUERY_TIMEOUT_MS = 5_000
const ZONES = '/usr/share/zoneinfo'

export async function readClock(host: Pick<Host, 'readSetting'>, run: Run): Promise<ClockFacts> {
  const [timezone, ntpEnabled, tracking] = await Promise.all([
    host.readSetting({ kind: 'timezone' }),
    isKept(host, run),
    readTracking(run),
  ])
  return { timezone: timezone === '' ? undefined : timezone, ntpEnabled, tracking }
}

/** Whether a service synchronises the clock: chrony, or another one that systemd knows. */
async function isKept(host: Pick<Host, 'readSetting'>, run: Run): Promise<boolean | undefined> {
  const chrony = await host.readSetting({ kind: 'unitEnabled', unit: 'ntp' })
  if (chrony === 'enabled' || chrony === 'disabled running') return true
  const { exitCode, output } = await run(['timedatectl', 'show', '--property=NTP', '--value'], QUERY_TIMEOUT_MS)
  if (exitCode === 0) return output.trim() === 'yes'
  return chrony === undefined || chrony === '' ? undefined : false
}

async function readTracking(run: Run): Promise<ClockTracking | undefined> {
  const tracking = await run(['chronyc', '-c', 'tracking'], QUERY_TIMEOUT_MS)
  if (tracking.exitCode !== 0) return undefined
  // Servers by their configured names, not by the names that DNS has for their addresses.
  const sources = await run(['chronyc', '-c', '-N', 'sources'], QUERY_TIMEOUT_MS)
  return parseTracking(tracking.output, sources.exitCode === 0 ? sources.output : '')
}

const STATES: Readonly<Record<string, string>> = {
  '*': 'selected',
  '+': 'combined',
  '-': 'not combined',
  '?': 'unusable',
  x: 'false ticker',
  '~': 'too variable',
}

/** Parses the output of `chronyc -c tracking` and `chronyc -c sources`; undefined for anything else. */
export function parseTracking(tracking: string, sources: string): ClockTracking | undefined {
  const fields = tracking.trim().split(',')
  const [id = '', name = '', stratum, , offset] = fields
  const leap = fields[13]
  if (leap === undefined) return undefined
  // The reference is a server and not this machine's own clock.
  const isReference = !/^(00000000|7F7F0101)$/i.test(id)
  return {
    synchronised: leap !== 'Not synchronised',
    reference: isReference && name !== '' ? name : null,
    stratum: Number(stratum),
    // chronyc prints the correction: a fast clock has a negative figure.
    offset_s: 0 - Number(offset),
    servers: sources.split('\n').flatMap((line) => {
      const [mode, state = '', server, , , reach] = line.split(',')
      // A local reference clock, such as PHC0, is no server: it cannot be asked by that name.
      if (server === undefined || mode === '#') return []
      return [{ name: server, state: STATES[state] ?? 'unknown', reachable: Number.parseInt(reach ?? '0', 8) > 0 }]
    }),
  }
}

/** Returns the time zones of tzdata, in order; undefined when tzdata is not installed. */
export async function readTimeZones(folder = ZONES): Promise<readonly string[] | undefined> {
  const data = await readText(`${folder}/tzdata.zi`)
  // The files of old names are in a separate package.
  return data === undefined ? undefined : parseTimeZones(data).filter((zone) => existsSync(`${folder}/${zone}`))
}

/** Parses the zones and links of tzdata.zi: "Z NAME …" and "L TARGET NAME". */
export function parseTimeZones(data: string): readonly string[] {
  const names = [...data.matchAll(/^(?:Z|L \S+) (\S+)/gm)].flatMap(([, name]) => (name === undefined ? [] : [name]))
  return names.toSorted()
}
