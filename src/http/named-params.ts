import { type RecordChange, SECTIONS } from '../model/sections.ts'

/** Path parameters as messages show them: the record that the request changed has its name, with the id beside it. */
export function namedParams(
  params: Readonly<Record<string, string>>,
  changes: readonly RecordChange[] = [],
): Readonly<Record<string, string>> {
  const { id } = params
  const change = id === undefined ? undefined : changes.find((one) => one.id === id)
  const record: object | undefined = change?.after ?? change?.before
  if (change === undefined || record === undefined) return params
  const name: unknown = Reflect.get(record, SECTIONS[change.section].nameField)
  return typeof name === 'string' && name !== '' && name !== id ? { ...params, id: `${name} (${id})` } : params
}
