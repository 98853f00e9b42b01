import type { RestoreRequest } from '../context/backups.ts'
import { danglingReferences } from '../rules/references.ts'
import type { FieldError } from '../base/errors.ts'
import { type ConfigView, type SectionContents, SECTIONS } from '../model/sections.ts'
import { contentsView } from '../backup-file/contents-view.ts'
import { BACKUP_SECTIONS, backupSectionOf } from '../backup-file/sections.ts'

/** Returns the requested sections. Floating IPs are enabled only if the request says so: another node may have them. */
export function partContents(contents: SectionContents, { sections = [], fipActive }: RestoreRequest): SectionContents {
  const wanted = BACKUP_SECTIONS.filter(({ name }) => sections.includes(name)).flatMap(({ config }) => config)
  const parts: SectionContents = Object.fromEntries(wanted.map((name) => [name, contents[name] ?? []]))
  const { floatingIps } = parts
  if (floatingIps === undefined) return parts
  return {
    ...parts,
    floatingIps: floatingIps.map((address) => ({ ...address, enabled: address.enabled && fipActive === true })),
  }
}

/** Returns the references that restoring only these sections would leave dangling, with the section that each needs. */
export function openReferences(
  contents: SectionContents,
  candidate: ConfigView,
  { sections = [] }: RestoreRequest,
): readonly FieldError[] {
  const needs = new Map<string, string[]>()
  for (const { section, name, refersTo } of danglingReferences(contentsView(contents, candidate))) {
    const [from, to] = [backupSectionOf(section) ?? section, backupSectionOf(refersTo.section) ?? refersTo.section]
    const missing = sections.includes(to) ? from : to
    const user = `the ${SECTIONS[section].label} ${name} refers to the ${SECTIONS[refersTo.section].label} ${refersTo.id}`
    const users = needs.get(missing)
    if (users === undefined) needs.set(missing, [user])
    else users.push(user)
  }
  return [...needs].map(([missing, [first, ...more]]) => {
    const canBeAdded = BACKUP_SECTIONS.some(({ name, partRestore }) => name === missing && partRestore)
    const advice = canBeAdded ? `add the section ${missing}` : 'create it first, or make a full restore'
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`
    return {
      field: 'sections',
      code: 'SECTION_NEEDED',
      message: `${first}${others} that would not exist: ${advice}`,
    }
  })
}
