import { readdirSync, statSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import {
  isMap,
  isNode,
  isPair,
  isScalar,
  LineCounter,
  Document as YamlDocument,
  parseDocument,
  type Scalar,
  type Tags,
  visit,
} from 'yaml'
import { readText } from './command.ts'
import { Failure, unread } from './failure.ts'

/** Documents of the configuration as files: YAML, which includes JSON. */

export type Document = Readonly<Record<string, unknown>>
type Environment = Readonly<Record<string, string | undefined>>

const ENDINGS: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json'])
/** Keys with a single value; every other key is a section, whose records have names. */
const WHOLE: ReadonlySet<string> = new Set(['$schema', 'version', 'owner', 'syslogServers', 'l7Raw'])

/** Returns whether the entry is a record, and not a setting with a single value. */
export const isRecord = ({ resource }: { readonly resource: string }): boolean => !WHOLE.has(resource)

/** Returns the number of records in a document. */
export const recordsIn = (document: Document): number =>
  Object.entries(document)
    .filter(([name]) => !WHOLE.has(name) && name !== 'renamed')
    .reduce((sum, [, records]) => sum + Object.keys(Object(records)).length, 0)

interface Place {
  readonly file: string
  readonly line: number
}

const at = ({ file, line }: Place) => `${file}:${line}`

/** Merges all files into one document; refuses a name that occurs twice, with both places. */
export function readDocuments(paths: readonly string[], input: () => string, env: Environment): Document {
  const merged = new Map<string, unknown>()
  const places = new Map<string, Place>()
  for (const file of paths.flatMap(filesOf)) {
    for (const [name, value, place] of entriesOf(file, input, env)) add(merged, places, name, value, place)
  }
  if (merged.size === 0) throw new Failure(`${paths.join(', ')} is empty`)
  return Object.fromEntries(merged)
}

function filesOf(path: string): readonly string[] {
  if (path === '-') return [path]
  let found: readonly string[]
  try {
    if (!statSync(path).isDirectory()) return [path]
    found = readdirSync(path)
  } catch (error) {
    throw unread(path, error)
  }
  const names = found.filter((name) => ENDINGS.has(extname(name)))
  if (names.length === 0) throw new Failure(`the folder ${path} has no .yaml, .yml or .json file`)
  return names.toSorted().map((name) => join(path, name))
}

function add(
  merged: Map<string, unknown>,
  places: Map<string, Place>,
  name: string,
  value: unknown,
  place: Place,
): void {
  const known = merged.get(name)
  // A section without a value adds no record, and deletes none.
  const isSection = typeof value === 'object' && !WHOLE.has(name)
  if (known === undefined || !isSection) {
    const before = places.get(name)
    if (before !== undefined && known !== value)
      throw new Failure(`${name} is in ${at(before)} and in ${at(place)}: keep only one`)
    if (!isSection) {
      merged.set(name, value)
      places.set(name, place)
      return
    }
  }
  if (Array.isArray(value)) throw new Failure(`${at(place)}: ${name} is a map of records by name, not a list`)
  // Without a prototype, so that no name has a meaning of its own.
  const section: Record<string, unknown> = Object.assign(Object.create(null), known)
  for (const [record, fields] of Object.entries(value ?? {})) {
    const own = `${name}.${record}`
    const before = places.get(own)
    if (before !== undefined) throw new Failure(`${own} is in ${at(before)} and in ${at(place)}: keep only one`)
    places.set(own, place)
    section[record] = fields
  }
  merged.set(name, section)
}

function entriesOf(
  file: string,
  input: () => string,
  env: Environment,
): readonly (readonly [string, unknown, Place])[] {
  const text = file === '-' ? input() : readText(file)
  const lines = new LineCounter()
  // The parser would compare each key of a map with every other one.
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: false,
    prettyErrors: false,
    customTags: TEXTS_UNTIL_FILLED,
  })
  const refuse = (offset: number, message: string): never => {
    const { line, col } = lines.linePos(offset)
    throw new Failure(`${file}:${line}:${col}: ${message}`)
  }
  // An unknown tag is only a warning of the parser, which would ignore the tagged value.
  const [problem] = [...document.errors, ...document.warnings]
  if (problem?.code === 'MULTIPLE_DOCS')
    refuse(problem.pos[0], 'a file contains one document: move what follows --- to its own file')
  if (problem !== undefined) refuse(problem.pos[0], problem.message)
  if (document.contents === null) return []
  if (!isMap(document.contents)) throw new Failure(`${file}: a document is a map of sections; see fulcrum schema`)
  if (document.has('fulcrumPlan'))
    throw new Failure(`${file} is a saved plan, not a document: fulcrum apply ${file} carries it out`)
  refuseStrange(document, refuse)
  fillIn(document, file, lines, env)
  return document.contents.items.flatMap((pair) => {
    if (!isPair(pair) || !isScalar(pair.key)) throw new Failure(`${file}: a section needs a name`)
    const line = lines.linePos(pair.key.range?.[0] ?? 0).line
    // The parser turns an empty value into undefined, which would not be sent.
    const value: unknown = document.get(pair.key.value) ?? null
    return [[String(pair.key.value), plain(document, value, `${file}:${line}`), { file, line }] as const]
  })
}

/** Returns YAML that is read as the same value: texts are broken only at their own line ends. */
export function written(value: unknown): string {
  // Other readers, such as Ansible, read unquoted `no` as false and 1_000 as a number.
  const document = new YamlDocument(value, { compat: 'yaml-1.1' })
  visit(document, {
    Scalar(_key, node) {
      // In a block, its first lines would be taken for indentation.
      if (typeof node.value === 'string' && /^\n*[ \t]+\n/.test(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER })
}

/** Refuses what YAML has and JSON has not: repeated names, names that are not texts, numbers that are not finite. */
function refuseStrange(document: YamlDocument, refuse: (offset: number, message: string) => never): void {
  visit(document, {
    Map(_key, map) {
      const seen = new Set<string>()
      for (const { key } of map.items) {
        const offset = isNode(key) ? (key.range?.[0] ?? 0) : 0
        if (!isScalar(key) || key.value === null) return refuse(offset, 'a name must be a string')
        const name = typeof key.value === 'string' ? key.value : JSON.stringify(key.value)
        // YAML reads 007 as a number, but its author meant a name other than 7.
        if (typeof key.value !== 'string' && key.source !== name)
          refuse(offset, `${key.source ?? 'this'} would be read as ${name}: quote it if it is a name`)
        if (seen.has(name)) refuse(offset, `${name} appears twice`)
        seen.add(name)
      }
      return undefined
    },
    Scalar(_key, { value, range, source }) {
      const isText = typeof value !== 'object' || value === null
      if (!isText || (typeof value === 'number' && !Number.isFinite(value)))
        refuse(range?.[0] ?? 0, `${source ?? 'this'} cannot be expressed in JSON`)
    },
  })
}

function plain(document: YamlDocument, value: unknown, where: string): unknown {
  if (typeof value !== 'object' || value === null || !('toJS' in value) || typeof value.toJS !== 'function')
    return value
  try {
    return value.toJS(document)
  } catch (error) {
    // An alias without an anchor, or one that expands too much.
    throw new Failure(`${where}: ${error instanceof Error ? error.message : ''}`)
  }
}

const TEMPLATE = /\$?\$\{(env|file):([^}]*)\}/g

interface Type {
  readonly what: string
  readonly read: (text: string) => number | boolean | undefined
}

/** What the text with a template becomes if this tag of YAML precedes it; without one, it stays a text. */
const TYPES: ReadonlyMap<string, Type> = new Map([
  [
    'tag:yaml.org,2002:int',
    { what: 'a whole number', read: (text) => (/^-?\d+$/.test(text) ? Number(text) : undefined) },
  ],
  [
    'tag:yaml.org,2002:bool',
    { what: 'true or false', read: (text) => (/^(true|false)$/.test(text) ? text === 'true' : undefined) },
  ],
])
const TEXTS_UNTIL_FILLED: Tags = [...TYPES.keys()].map((tag) => ({
  tag,
  default: true,
  test: /\$\{(env|file):/,
  resolve: (text: string) => text,
}))

/** Replaces `${env:NAME}` and `${file:PATH}`, and nothing else; preceded by another `$`, they are text. */
function fillIn(document: YamlDocument, file: string, lines: LineCounter, env: Environment): void {
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return
      const where = `${file}:${lines.linePos(node.range?.[0] ?? 0).line}`
      const filled = node.value.replace(TEMPLATE, (whole: string, kind: string, name: string) => {
        if (whole.startsWith('$$')) return whole.slice(1)
        if (kind === 'file') return contentOf(name, file, where)
        const value = env[name]
        if (value === undefined) throw new Failure(`${where}: the variable ${name} is not set`)
        return value
      })
      node.value = typed(filled, node, where)
    },
  })
}

function typed(filled: string, { tag = '', source = '' }: Scalar, where: string): unknown {
  const type = TYPES.get(tag)
  if (type === undefined) return filled
  const value = type.read(filled.trim())
  // What a variable contains may be secret, so it is not repeated.
  if (value === undefined) throw new Failure(`${where}: ${source} is not ${type.what}`)
  return value
}

function contentOf(name: string, from: string, where: string): string {
  const path = resolve(from === '-' ? '.' : dirname(from), name)
  try {
    return readText(path)
  } catch (error) {
    throw new Failure(`${where}: ${error instanceof Failure ? error.message : ''}`)
  }
}
