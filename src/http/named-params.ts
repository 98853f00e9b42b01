import { type RecordChange, SECTIONS } from '../model/sections.ts'

/** Returns the path parameters for messages: the record that the request changed is shown by name, with its id. */
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
