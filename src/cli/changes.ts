import { cutText } from '../base/cut-text.ts'
import { isId } from '../base/ids.ts'
import type { Connection } from './connection.ts'
import { coloured, type Colour, printable } from './output.ts'
import type { Terminal } from './terminal.ts'

/** A change, pending or planned. */
export interface Change {
  readonly id?: string
  readonly op: 'create' | 'update' | 'delete'
  readonly resource: string
  readonly resourceId: string
  readonly name: string
  readonly by?: string
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
  readonly effect: string
  readonly services: readonly string[]
}

export interface Warning {
  readonly code: string
  readonly message: string
  /** Section of the record that the warning is about, if it is about one. */
  readonly resource?: string
  readonly name?: string
}

export interface Changes {
  readonly changes: readonly Change[]
  readonly warnings: readonly Warning[]
  readonly files?: readonly { readonly path: string; readonly diff: string }[]
}

const SIGNS = { create: '+', update: '~', delete: '-' } as const
const COLOURS: Readonly<Record<Change['op'], Colour>> = { create: 'green', update: 'yellow', delete: 'red' }

/** Paths of lists whose records the changes may refer to. */
const NAMED = [
  '/ipvsDirector/rips',
  '/layer7proxy/backends',
  '/layer7proxy/frontends',
  '/ipvsDirector/backends',
  '/certificates/certs',
  '/healthchecks',
  '/ipgroups',
] as const

/** Returns the names of records by id; fetched only if ids are shown. */
async function namesFor(
  changes: readonly Change[],
  shown: readonly Difference[],
  connection: Connection,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map(changes.map(({ resourceId, name }) => [resourceId, name]))
  const isUnknown = (value: Value) => typeof value === 'string' && isId(value) && !names.has(value)
  if (!shown.some(({ was, is }) => isUnknown(was) || isUnknown(is))) return names
  for (const path of NAMED) {
    const records = await connection.list<{ readonly id: string; readonly name: string }>(path).catch(() => [])
    for (const { id, name } of records) if (!names.has(id)) names.set(id, name)
  }
  return names
}

type Value = unknown
type Leaf = readonly [path: string, value: Value]

/** Returns the leaves of a value, each with its path. */
function leavesOf(value: Value, path = ''): readonly Leaf[] {
  if (typeof value !== 'object' || value === null) return [[path, value]]
  const entries = Object.entries(value)
  if (entries.length === 0) return [[path, Array.isArray(value) ? '[]' : '{}']]
  return entries.flatMap(([name, inside]) => leavesOf(inside, path === '' ? name : `${path}.${name}`))
}

interface Difference {
  readonly path: string
  /** Undefined if there was no value. */
  readonly was: Value
  readonly is: Value
}

function differences({ before, after }: Change): readonly Difference[] {
  const [old, now] = [new Map(leavesOf(before ?? {})), new Map(leavesOf(after ?? {}))]
  const paths = [...new Set([...old.keys(), ...now.keys()])].filter((path) => path !== '' && path !== 'id')
  return paths
    .filter((path) => old.get(path) !== now.get(path))
    .map((path) => ({ path, was: old.get(path), is: now.get(path) }))
}

const LINE_MAX = 160

/** Prints the changes with their fields, the warnings, and a summary. Deletions come first. */
export async function tell(
  { changes, warnings, files }: Changes,
  { connection, terminal, isWide = false }: { connection: Connection; terminal: Terminal; isWide?: boolean },
): Promise<void> {
  const sorted = changes
    .toSorted((a, b) => Number(b.op === 'delete') - Number(a.op === 'delete'))
    .map((change) => {
      const isShown = change.op === 'update' || (isWide && change.op === 'create')
      return { ...change, fields: isShown ? differences(change) : [] }
    })
  const names = await namesFor(
    changes,
    sorted.flatMap(({ fields }) => fields),
    connection,
  )
  const shown = (value: Value): string => {
    const text = typeof value === 'string' ? (isId(value) ? (names.get(value) ?? value) : value) : JSON.stringify(value)
    const line = printable(text.replaceAll('\n', '\\n'))
    return line.length > LINE_MAX ? `${cutText(line, LINE_MAX)}…` : line
  }
  for (const { op, resource, name, effect, by, id, fields } of sorted) {
    const cost = effect === 'runtime' ? '' : `  (${effect})`
    const whose = by === undefined ? '' : `  by ${by}  ${id ?? ''}`
    const what = coloured(terminal, COLOURS[op], printable(`${SIGNS[op]} ${resource} ${name}`))
    terminal.out(`${what}${printable(`${cost}${whose}`)}\n`)
    for (const { path, was, is } of fields) {
      const before = was === undefined ? '' : `${shown(was)} → `
      terminal.out(`    ${printable(path)}: ${before}${is === undefined ? '(none)' : shown(is)}\n`)
    }
  }
  if (isWide) for (const { diff } of files ?? []) terminal.out(`\n${inColour(diff, terminal)}`)
  for (const { code, message } of warnings)
    terminal.out(`${coloured(terminal, 'yellow', printable(`! ${code}`))} ${printable(message)}\n`)
  terminal.out(`${printable(summary(changes))}\n`)
}

function inColour(diff: string, terminal: Terminal): string {
  const colourOf = (line: string): Colour | undefined =>
    line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : line.startsWith('@') ? 'dim' : undefined
  return diff
    .split('\n')
    .map((text) => {
      const line = printable(text.replaceAll('\t', '    '))
      const colour = colourOf(line)
      return colour === undefined ? line : coloured(terminal, colour, line)
    })
    .join('\n')
}

function summary(changes: readonly Change[]): string {
  if (changes.length === 0) return 'Nothing would change.'
  const count = (op: Change['op']) => changes.filter((change) => change.op === op).length
  const touched = [...new Set(changes.filter(({ effect }) => effect !== 'runtime').flatMap(({ services }) => services))]
  const cost =
    touched.length === 0 ? 'without a reload or restart' : `with a reload or restart of ${touched.join(', ')}`
  return `${count('create')} to create, ${count('update')} to change, ${count('delete')} to delete, ${cost}.`
}

/** For a waiting apply: a confirmation after this time comes too late. */
export const untilTakenBack = (left_s: number): string =>
  left_s === 0
    ? 'was not confirmed in time and is being reverted'
    : `is reverted in ${left_s} s unless you run: fulcrum confirm`
