import { canonicalIp } from '../base/ip-network.ts'
import type { Usage } from '../model/problem.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/** Returns the records of all sections that refer to a record. */
export function usageOf(view: ConfigView, section: SectionName, id: string): readonly Usage[] {
  return SECTION_NAMES.flatMap((resource) => usageIn(view, resource, section, id))
}

function usageIn<N extends SectionName>(view: ConfigView, resource: N, section: SectionName, id: string): Usage[] {
  const { references, addresses, nameField } = SECTIONS[resource]
  const ip = section === 'staticIps' || section === 'floatingIps' ? view.get(section, id)?.ip : undefined
  const found: Usage[] = []
  for (const record of view.list(resource)) {
    const reference =
      references(record).find(
        (named) => (named.section === section || named.orSection === section) && named.id === id,
      ) ?? addresses?.(record).find((candidate) => ip !== undefined && canonicalIp(candidate.ip) === ip)
    if (reference === undefined) continue
    found.push({ resource, id: record.id, name: String(record[nameField]), field: reference.field })
  }
  return found
}
