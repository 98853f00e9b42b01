import { grouped } from '../base/grouped.ts'
import type { AlertRule } from '../model/alerts.ts'
import { nameTest } from '../rules/alerts.ts'
import { LIVE_FIELDS, type LiveKind } from '../stats/live-fields.ts'
import { rowKey } from '../stats/live-plan.ts'
import type { OnFound, Watched } from '../stats/live-scan.ts'
import type { ObjectNames } from '../stats/names.ts'
import { type AlertObject, type Conditions, type Met, NOTHING_UNKNOWN, type OnMet, type Unknown } from './met.ts'

/** The figures of one layer. */
export interface LayerFigures {
  readonly layer: 4 | 7
  readonly names: ObjectNames
  scan(watched: readonly Watched[], found: OnFound): boolean
}

/** The rules for one figure, with common bounds: a value between them meets none of the rules. */
interface Bundle {
  readonly watched: Watched
  readonly rules: readonly { readonly rule: AlertRule; readonly isChosen: Choice }[]
}

/**
 * Thresholds and real servers that are down. The figures are scanned once, whatever the number of rules: rules for one
 * figure share bounds, and only values beyond them are compared rule by rule.
 */
export class LiveConditions implements Conditions {
  readonly #figures: LayerFigures
  readonly #bundles: ReadonlyMap<Watched, Bundle>
  readonly #watched: readonly Watched[]
  readonly #rules: readonly AlertRule[]
  #objects: ReadonlyMap<string, AlertObject> = new Map()
  #of = -1

  constructor(figures: LayerFigures, rules: readonly AlertRule[]) {
    this.#figures = figures
    this.#rules = rules.filter((rule) => isOf(rule, figures.layer))
    const groups = grouped(this.#rules, ({ when }) => `${kindOf(when)} ${when.metric ?? ''}`)
    const bundles = [...groups.values()].map((some) => bundleOf(some, figures.layer))
    this.#bundles = new Map(bundles.map((bundle) => [bundle.watched, bundle]))
    this.#watched = [...this.#bundles.keys()]
  }

  look(met: OnMet): readonly Unknown[] {
    if (this.#watched.length === 0) return NOTHING_UNKNOWN
    const found: OnFound = (watched, value, proxy, server) => {
      const object = this.#object(watched.kind, proxy, server)
      if (object === undefined) return
      for (const { rule, isChosen } of this.#bundles.get(watched)?.rules ?? []) {
        if (isBeyond(rule, value) && isChosen(object)) met(this.#met(rule, object, value))
      }
    }
    if (this.#figures.scan(this.#watched, found)) return NOTHING_UNKNOWN
    const { layer } = this.#figures
    return this.#rules.map(({ id: ruleId }) => ({ ruleId, layer }))
  }

  #met(rule: AlertRule, object: AlertObject, value: number): Met {
    const { type, metric, is = 'above', value: bound } = rule.when
    const isDown = type === 'serverDown'
    return {
      rule,
      key: `${this.#figures.layer}/${object.type}/${object.id}`,
      object,
      value: isDown ? null : value,
      text: isDown
        ? `${object.name} is down: its health checks fail`
        : `${metric} of ${object.name} is ${value}, ${is} ${bound}`,
    }
  }

  /** Returns the object; the map is built on first use, and again after a change of names. */
  #object(kind: LiveKind, proxy: string, server: string): AlertObject | undefined {
    const { names } = this.#figures
    if (this.#of !== names.version) {
      this.#of = names.version
      this.#objects = objectsOf(names)
    }
    return this.#objects.get(rowKey(kind, proxy, server))
  }
}

const kindOf = ({ type, object }: AlertRule['when']): LiveKind =>
  type === 'serverDown' ? 'server' : (object ?? 'server')

function isOf({ when }: AlertRule, layer: 4 | 7): boolean {
  if (when.type === 'serverDown') return when.layer === undefined || when.layer === layer
  return when.type === 'threshold' && (when.layer ?? 7) === layer
}

function bundleOf(bundled: readonly AlertRule[], layer: 4 | 7): Bundle {
  const [first] = bundled
  const rules = bundled.map((rule) => ({ rule, isChosen: choiceOf(rule) }))
  const kind = first === undefined ? 'server' : kindOf(first.when)
  if (first?.when.type === 'serverDown')
    return { watched: { kind, column: 'status', above: 0, below: Number.NEGATIVE_INFINITY, isDown: true }, rules }
  const metric = first?.when.metric ?? ''
  const bounds = (is: string) =>
    bundled.filter(({ when }) => (when.is ?? 'above') === is).map(({ when }) => when.value ?? 0)
  // Layer 4 names its figures as the API does.
  const column = layer === 4 ? metric : (LIVE_FIELDS[kind].find(({ name }) => name === metric)?.column ?? '')
  const watched = { kind, column, above: Math.min(...bounds('above')), below: Math.max(...bounds('below')) }
  return { watched, rules }
}

const isBeyond = ({ when: { type, is, value = 0 } }: AlertRule, figure: number): boolean =>
  type === 'serverDown' || (is === 'below' ? figure < value : figure > value)

/** Whether a rule concerns an object. */
export type Choice = (object: AlertObject) => boolean

/** Compiled once per rule. An object whose id contains that of a real server also matches that id alone. */
export function choiceOf({ when: { ids, names } }: AlertRule): Choice {
  if (ids !== undefined) {
    const chosen = new Set(ids)
    return ({ id }) => chosen.has(id) || chosen.has(id.slice(id.indexOf('/') + 1))
  }
  if (names === undefined) return () => true
  const fits = nameTest(names)
  return ({ name }) => fits(name)
}

function objectsOf(names: ObjectNames): ReadonlyMap<string, AlertObject> {
  const objects = new Map<string, AlertObject>()
  for (const { id, name, called = id } of names.frontends())
    objects.set(rowKey('frontend', called, ''), { type: 'frontend', id, name })
  for (const { id, name, called = id, reals } of names.backends()) {
    objects.set(rowKey('backend', called, ''), { type: 'backend', id, name })
    for (const { ripId, name: real, called: server = ripId } of reals)
      objects.set(rowKey('server', called, server), { type: 'server', id: `${id}/${ripId}`, name: `${name}/${real}` })
  }
  return objects
}
