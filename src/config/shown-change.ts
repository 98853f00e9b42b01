import { isDeepStrictEqual } from 'node:util'
import { certificateSummaries } from '../base/certificate-summary.ts'
import { MASK } from '../base/mask.ts'
import type { ShownChange } from '../context/staging.ts'
import { type RecordChange, type SectionName, SECTIONS } from '../model/sections.ts'

/** Fields that hold certificates in PEM, which is not readable. */
const PEM: { readonly [N in SectionName]?: string } = {
  certificates: 'chain',
  samlConfigs: 'idpCertificates',
  oidcConfigs: 'caCertificate',
  l7Frontends: 'clientCa',
}
/** Fields that repeat what the summary of a certificate says. */
const SAID_OTHERWISE: { readonly [N in SectionName]?: readonly string[] } = { certificates: ['facts'] }

function summarised(section: SectionName, key: string, value: unknown): unknown {
  if (PEM[section] !== key) return value
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  return texts.flatMap((text) => certificateSummaries(String(text)))
}

/** Returns a record as users may see it. */
function shown(section: SectionName, record: object | undefined): Readonly<Record<string, unknown>> | null {
  if (record === undefined) return null
  const secrets: readonly string[] = SECTIONS[section].secrets
  const entries = Object.entries(record).filter(([key]) => !SAID_OTHERWISE[section]?.includes(key))
  return Object.fromEntries(
    entries.map(([key, value]) => [key, secrets.includes(key) ? MASK : summarised(section, key, value)]),
  )
}

/** Keeps the fields in which two records differ; a changed secret counts although both sides read `**`. */
function differing(change: RecordChange): Pick<ShownChange, 'before' | 'after'> {
  const before = shown(change.section, change.before)
  const after = shown(change.section, change.after)
  if (change.before === undefined || change.after === undefined) return { before, after }
  const [old, next]: readonly object[] = [change.before, change.after]
  const changed = Object.keys({ ...old, ...next }).filter(
    (key) => !SAID_OTHERWISE[change.section]?.includes(key) && !isDeepStrictEqual(field(old, key), field(next, key)),
  )
  const pick = (record: typeof before) => Object.fromEntries(changed.map((key) => [key, record?.[key] ?? null]))
  return { before: pick(before), after: pick(after) }
}

const field = (record: object | undefined, key: string): unknown => record && Reflect.get(record, key)

function operation(change: RecordChange): ShownChange['op'] {
  if (change.before === undefined) return 'create'
  return change.after === undefined ? 'delete' : 'update'
}

/** Returns the name of the record that a change concerns, and the kind of change. */
export function namedChange(change: RecordChange): Pick<ShownChange, 'op' | 'resource' | 'resourceId' | 'name'> {
  const record: object | undefined = change.after ?? change.before
  return {
    op: operation(change),
    resource: change.section,
    resourceId: change.id,
    name: record === undefined ? '' : String(Reflect.get(record, SECTIONS[change.section].nameField)),
  }
}

/** Returns a change of one record as users may see it. */
export function shownChange(change: RecordChange): ShownChange {
  return { ...namedChange(change), ...differing(change) }
}
