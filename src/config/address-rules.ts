import type { Problem } from '../drivers/driver.ts'
import { canonicalIp } from '../ip-network.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/**
 * A static IP may not go while something listens on it. Drafts see to that; discarding or applying a part of the pending
 * changes could still take it away.
 */
export function verifyAddresses(desired: ConfigView, running: ConfigView): readonly Problem[] {
  const kept = new Set([...desired.list('staticIps')].map(({ ip }) => ip))
  const gone = new Set([...running.list('staticIps')].map(({ ip }) => ip).filter((ip) => !kept.has(ip)))
  return gone.size === 0 ? [] : SECTION_NAMES.flatMap((section) => listenersOn(gone, desired, section))
}

function listenersOn<N extends SectionName>(
  gone: ReadonlySet<string>,
  desired: ConfigView,
  section: N,
): readonly Problem[] {
  const { addresses } = SECTIONS[section]
  if (addresses === undefined) return []
  return [...desired.list(section)].flatMap((record) =>
    addresses(record)
      .filter(({ ip }) => gone.has(canonicalIp(ip)))
      .map(({ field, ip }) => ({
        section,
        id: record.id,
        field,
        message: `${ip} is taken away and still listened on`,
      })),
  )
}
