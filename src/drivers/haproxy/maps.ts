import { dirname } from 'node:path'
import { type Condition, conditionsOf, isCaseless, type Rule } from '../../model/l7-rules.ts'
import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { FileContent, KeepOnlyStep, ReplaceFileStep, SocketCommand, SocketStep } from '../driver.ts'
import { command, toWorker } from './cli.ts'
import type { HaproxyPaths } from './paths.ts'
import { servedFrontends } from './resting.ts'
import { commentText } from './statement.ts'

/**
 * Files in which HAProxy looks things up, and which can be changed at runtime: maps for rules that only choose a
 * backend by a name or a path, and lists of addresses.
 */

const FILE_MODE = 0o600
const FILE_TIMEOUT_MS = 10_000
const ANSWER_TIMEOUT_MS = 3_000
const PER_COMMAND_TIMEOUT_MS = 5

/** A folder of ours beside haproxy.cfg: foreign files are removed from it. */
export const mapFolder = ({ configFile }: HaproxyPaths): string => `${dirname(configFile)}/fulcrum-maps`

/** Stands for a disabled backend: no id has this value. */
export const NO_BACKEND = '-'

/** Consecutive rules of a frontend; `at` is the index of the first. */
export interface RuleGroup {
  readonly at: number
  readonly rules: readonly Rule[]
  /** The condition type that all of them look up in one map. */
  readonly lookedUp: Condition | undefined
}

/** A key in a file ends at a space, and lines with # are comments, with which no path or name begins. */
const KEY = /^[!-~]+$/

/** Returns the condition of a rule that a map can replace. */
function lookUpOf(rule: Rule): Condition | undefined {
  const [condition, other] = conditionsOf(rule)
  if (rule.do.type !== 'backend' || condition === undefined || other !== undefined) return undefined
  const { type, match = 'is', negate = false, values } = condition
  const isLookedUp = match === 'is' ? ['host', 'sni', 'path'].includes(type) : match === 'begins' && type === 'path'
  return isLookedUp && !negate && values.every((value) => KEY.test(value)) ? condition : undefined
}

const isAlike = (one: Condition, other: Condition) =>
  one.type === other.type && (one.match ?? 'is') === (other.match ?? 'is')

/** Groups consecutive rules that look up the same thing; every other rule is a group of its own. */
export function ruleGroups(rules: readonly Rule[]): readonly RuleGroup[] {
  const groups: { at: number; rules: Rule[]; lookedUp: Condition | undefined }[] = []
  for (const [at, rule] of rules.entries()) {
    const lookedUp = lookUpOf(rule)
    const last = groups.at(-1)
    if (lookedUp !== undefined && last?.lookedUp !== undefined && isAlike(last.lookedUp, lookedUp))
      last.rules.push(rule)
    else groups.push({ at, rules: [rule], lookedUp })
  }
  return groups
}

/** Name of a group's map, by the index of the group. */
export const mapName = (frontendId: string, group: number): string => `${frontendId}.r${group}.map`
/** Name of the address list of a condition. */
export const addressesName = (frontendId: string, group: number, condition: number): string =>
  `${frontendId}.r${group}c${condition}.acl`

interface LookedUpFile {
  readonly name: string
  readonly kind: 'map' | 'acl'
  /** Keys and their values, each key once. */
  readonly entries: ReadonlyMap<string, string>
  readonly content: string
}

/** Returns a value as it is compared. A dot at the end of a host is dropped: servers treat both spellings alike. */
export function comparedAs(type: Condition['type'], value: string): string {
  let { length } = value
  if (type === 'host') while (length > 1 && value[length - 1] === '.') length -= 1
  return value.slice(0, length)
}

/** Returns the map of a group. If two rules have the same key, the first one counts, as in the list. */
function mapOf(
  rules: readonly Rule[],
  lookedUp: Condition,
  name: string,
  isServed: (backendId: string) => boolean,
): LookedUpFile {
  const entries = new Map<string, string>()
  const isBeginning = lookedUp.match === 'begins'
  // HAProxy uses the longest matching prefix, so a key after one of its own prefixes would win, and is left out.
  const isTaken = (key: string) =>
    isBeginning ? Array.from(key, (_, at) => key.slice(0, at + 1)).some((part) => entries.has(part)) : entries.has(key)
  let content = ''
  for (const rule of rules) {
    const { name: title = '', do: action } = rule
    if (title !== '') content += `# ${commentText(title)}\n`
    const backend = isServed(action.backendId ?? '') ? (action.backendId ?? '') : NO_BACKEND
    for (const value of conditionsOf(rule)[0]?.values ?? []) {
      const known = comparedAs(lookedUp.type, value)
      const key = isCaseless(lookedUp.type) ? known.toLowerCase() : known
      if (isTaken(key)) continue
      entries.set(key, backend)
      content += `${key} ${backend}\n`
    }
  }
  return { name, kind: 'map', entries, content }
}

/** A frontend may look up the same thing in a thousand rules. */
function filesOf({ id, rules = [] }: L7Frontend, isServed: (backendId: string) => boolean): readonly LookedUpFile[] {
  return ruleGroups(rules).flatMap(({ rules: together, lookedUp }, at) => {
    if (lookedUp !== undefined) return [mapOf(together, lookedUp, mapName(id, at), isServed)]
    return together.flatMap(conditionsOf).flatMap(({ type, values }, index): LookedUpFile[] => {
      if (type !== 'source') return []
      const entries = new Map(values.map((value) => [value, '']))
      const content = [...entries.keys()].map((value) => `${value}\n`).join('')
      return [{ name: addressesName(id, at, index), kind: 'acl', entries, content }]
    })
  })
}

const lookedUpIn = (view: ConfigView, isWanted: (frontend: L7Frontend) => boolean = () => true) =>
  servedFrontends(view)
    .filter((frontend) => frontend.enabled && isWanted(frontend))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((frontend) => filesOf(frontend, (id) => view.get('l7Backends', id)?.enabled === true))

/** Returns the files that haproxy.cfg names. */
export const mapFiles = (view: ConfigView, paths: HaproxyPaths): readonly FileContent[] =>
  lookedUpIn(view).map(({ name, content }) => ({ path: `${mapFolder(paths)}/${name}`, content }))

/** Removes files that haproxy.cfg no longer names, after the reload, at which HAProxy reads all of them. */
export function mapTidying(
  running: ConfigView | undefined,
  desired: ConfigView,
  paths: HaproxyPaths,
): readonly KeepOnlyStep[] {
  const names = lookedUpIn(desired).map(({ name }) => name)
  const wanted = new Set(names)
  const isUntidy = running === undefined ? wanted.size > 0 : lookedUpIn(running).some(({ name }) => !wanted.has(name))
  const why = 'remove unused maps'
  return isUntidy ? [{ kind: 'keepOnly', why, timeout_ms: FILE_TIMEOUT_MS, folder: mapFolder(paths), names }] : []
}

/**
 * For files that exist on both sides, with the same backends enabled: adding or removing a file needs a reload, because
 * haproxy.cfg changes. Most frontends are the same record on both sides, and are skipped.
 */
export function mapSteps(
  running: ConfigView,
  desired: ConfigView,
  paths: HaproxyPaths,
): readonly (SocketStep | ReplaceFileStep)[] {
  const isOther = ({ id }: L7Frontend) => running.get('l7Frontends', id) !== desired.get('l7Frontends', id)
  const before = new Map(lookedUpIn(running, isOther).map((file) => [file.name, file]))
  const changed = lookedUpIn(desired, isOther).flatMap((after) => {
    const old = before.get(after.name)
    return old === undefined || old.content === after.content ? [] : [{ before: old, after }]
  })
  const files = changed.map(({ after }): ReplaceFileStep => ({
    kind: 'replaceFile',
    why: 'keep the map in step with the running HAProxy',
    timeout_ms: FILE_TIMEOUT_MS,
    path: `${mapFolder(paths)}/${after.name}`,
    content: after.content,
    mode: FILE_MODE,
    checked: false,
  }))
  const commands = changed.flatMap(({ before: old, after }) => commandsFor(old, after, mapFolder(paths)))
  if (commands.length === 0) return files
  const socket: SocketStep = {
    kind: 'socket',
    why: `change ${commands.length === 1 ? 'one entry' : `${commands.length} entries`} of the maps of the running HAProxy`,
    timeout_ms: ANSWER_TIMEOUT_MS + commands.length * PER_COMMAND_TIMEOUT_MS,
    path: paths.masterSocket,
    commands,
    // The answer to each command shows whether its key was found.
    readBack: [],
    undo: changed.toReversed().flatMap(({ before: old, after }) => undone(commandsFor(after, old, mapFolder(paths)))),
  }
  return [socket, ...files]
}

/** Additions come first, so that nothing lacks an entry in between. */
function commandsFor(before: LookedUpFile, after: LookedUpFile, folder: string): readonly SocketCommand[] {
  const say = (verb: 'add' | 'set' | 'del', ...words: readonly string[]): SocketCommand => ({
    request: toWorker('current', command(verb, after.kind, `${folder}/${after.name}`, ...words)),
    expect: [''],
  })
  const words = (key: string, value: string) => (after.kind === 'map' ? [key, value] : [key])
  const [coming, other, going]: [SocketCommand[], SocketCommand[], SocketCommand[]] = [[], [], []]
  for (const [key, value] of after.entries) {
    const old = before.entries.get(key)
    if (old === undefined) coming.push(say('add', ...words(key, value)))
    else if (old !== value) other.push(say('set', ...words(key, value)))
  }
  for (const key of before.entries.keys()) if (!after.entries.has(key)) going.push(say('del', key))
  return [...coming, ...other, ...going]
}

/**
 * An undo does not know how far the commands came. A duplicate addition has the same value, and is removed with the
 * original.
 */
const undone = (commands: readonly SocketCommand[]): readonly SocketCommand[] =>
  commands.map(({ request, expect }) => ({ request, expect: [...expect, 'entry not found.', 'Key not found.'] }))
