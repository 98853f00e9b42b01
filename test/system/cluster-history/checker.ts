import type { Entry } from '../../../storage/config/entry.ts'
import type { NodeShown, Outcome, Shown, Signed } from './lines.ts'
import { Model, NotPossible } from './model.ts'

/** Checks whether the nodes' answers, the log and the stores can all be true. */

/** One edit, from the editor's point of view. An editor that was killed never learned the outcome. */
export interface Operation {
  readonly name: string
  readonly kind: string
  readonly began_us: number
  readonly ended_us?: number
  readonly outcome?: Outcome
  readonly why?: string
}

/** Entries of the log, in the order of etcd. */
export interface Found {
  readonly position: number
  readonly entry: Entry & Partial<Signed>
}

/** Returns all violations in the log, as sentences. */
export function logViolations(operations: readonly Operation[], log: readonly Found[]): readonly string[] {
  const at = new Map<string, number>()
  const said: string[] = []
  for (const { position, entry } of log) {
    if (entry.operation === undefined) continue
    if (at.has(entry.operation)) said.push(`${entry.operation} is in the log twice`)
    else at.set(entry.operation, position)
  }
  return [
    ...said,
    ...holes(log),
    ...unanswered(operations, at),
    ...disorder(operations, at),
    ...modelled(log).violations,
  ]
}

/** Each number occurs once, without gaps. */
function holes(log: readonly Found[]): readonly string[] {
  return log.flatMap(({ position }, index) => {
    const before = index === 0 ? 0 : (log[index - 1]?.position ?? 0)
    return position === before + 1 ? [] : [`entry ${position} was written behind entry ${before}`]
  })
}

/** Answered operations are in the log, and refused ones are not. */
function unanswered(operations: readonly Operation[], at: ReadonlyMap<string, number>): readonly string[] {
  const begun = new Set(operations.map(({ name }) => name))
  const strangers = [...at.keys()].filter((name) => !begun.has(name))
  return [
    ...strangers.map((name) => `${name} is in the log, and nobody began it`),
    ...operations.flatMap(({ name, kind, outcome, why }) => {
      if (outcome === 'broken') return [`${name} (${kind}) failed: ${why}`]
      if (outcome === 'answered' && !at.has(name)) return [`${name} (${kind}) was answered and is not in the log`]
      return outcome === 'refused' && at.has(name) ? [`${name} (${kind}) was refused (${why}) and is in the log`] : []
    }),
  ]
}

/** An operation answered before another began precedes it. */
function disorder(operations: readonly Operation[], at: ReadonlyMap<string, number>): readonly string[] {
  const logged = operations.flatMap((operation) => {
    const position = at.get(operation.name)
    return position === undefined ? [] : [{ ...operation, position }]
  })
  const begun = logged.toSorted((one, other) => one.began_us - other.began_us)
  const ended = logged
    .flatMap(({ outcome, ended_us, ...one }) =>
      outcome === 'answered' && ended_us !== undefined ? [{ ...one, ended_us }] : [],
    )
    .toSorted((one, other) => one.ended_us - other.ended_us)
  let answered = 0
  let last = { position: 0, name: '' }
  return begun.flatMap(({ name, position, began_us }) => {
    for (let one = ended[answered]; one !== undefined && one.ended_us < began_us; one = ended[++answered])
      if (one.position > last.position) last = one
    return position > last.position ? [] : [`${name} is before ${last.name} in the log, which was answered before it`]
  })
}

/**
 * Returns the state that the log describes, and the entries that a writer with full knowledge could not have written.
 */
export function modelled(log: readonly Found[]): { readonly shown: Shown; readonly violations: readonly string[] } {
  const model = new Model()
  let known: readonly string[] = []
  const violations = log.flatMap(({ position, entry }) => {
    const wrong = (entry.expects ?? [])
      .filter(({ id, revision }) => (model.candidate(id)?.revision ?? null) !== revision)
      .map(({ id, revision }) => `${entry.operation} at ${position} expects ${id} to have revision ${revision}`)
    try {
      model.take(entry)
    } catch (error) {
      if (!(error instanceof NotPossible)) throw error
      wrong.push(`${entry.operation} at ${position}: ${error.message}`)
    }
    const twice = model.namesTwice()
    const fresh = twice.filter((name) => !known.includes(name))
    known = twice
    return [...wrong, ...fresh.map((name) => `${name} is there twice behind ${position}`)]
  })
  return { shown: model.show(), violations }
}

/** Returns the violations of stores that have folded the whole log. */
export function storeViolations(log: readonly Found[], stores: ReadonlyMap<string, NodeShown>): readonly string[] {
  const { shown } = modelled(log)
  const position = log.at(-1)?.position ?? 0
  const digests = new Set([...stores.values()].map(({ digest }) => digest))
  return [
    ...(digests.size > 1 ? [`the digests differ: ${[...digests].join(', ')}`] : []),
    ...[...stores].flatMap(([id, store]) => [
      ...(store.halted === '' ? [] : [`${id} has stopped: ${store.halted}`]),
      ...(store.position === position ? [] : [`${id} is at ${store.position}, and the log ends at ${position}`]),
      ...differences(id, store, shown),
    ]),
  ]
}

function differences(id: string, store: Shown, model: Shown): readonly string[] {
  const numbers = (['sequence', 'revision', 'unconfirmed'] as const)
    .filter((name) => store[name] !== model[name])
    .map((name) => `${id} has ${store[name]} for ${name}, and not ${model[name]}`)
  const lists = (['running', 'pending', 'frozen', 'revisions'] as const).flatMap((name) => {
    const [has, wants] = [new Set(store[name]), new Set(model[name])]
    return [
      ...[...has].filter((one) => !wants.has(one)).map((one) => `${id} has too much in ${name}: ${one}`),
      ...[...wants].filter((one) => !has.has(one)).map((one) => `${id} lacks in ${name}: ${one}`),
    ]
  })
  return [...numbers, ...lists]
}
