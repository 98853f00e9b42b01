import type { Event } from '../events/events.ts'
import { cutText } from '../base/cut-text.ts'
import type { AlertRule } from '../model/alerts.ts'
import { type Conditions, type Met, NOTHING_UNKNOWN, type OnMet, type Unknown } from './met.ts'

/** Maximum number of events per look: more belong in the log. */
const WAITING_MAX = 1_000
const TEXT_MAX = 500

/** Events that match rules, collected since the last look. */
export class EventConditions implements Conditions {
  /** Rules by kind of event: most kinds have none, and there may be thousands of events at a time. */
  readonly #rules = new Map<string, AlertRule[]>()
  #waiting: Met[]
  #left = 0

  /** `before` may hold events collected for the rules that these replace. */
  constructor(rules: readonly AlertRule[], before?: EventConditions) {
    this.#waiting = before === undefined ? [] : before.#waiting
    for (const rule of rules)
      for (const kind of rule.when.type === 'event' ? new Set(rule.when.events) : [])
        this.#rules.set(kind, [...(this.#rules.get(kind) ?? []), rule])
  }

  take({ kind, data }: Event): void {
    const rules = this.#rules.get(kind)
    if (rules === undefined) return
    const state = textIn(data, 'state')
    for (const rule of rules) {
      const { states } = rule.when
      if (states !== undefined && !states.includes(state)) continue
      if (this.#waiting.length < WAITING_MAX) this.#waiting.push(metBy(rule, kind, state, data))
      else this.#left++
    }
  }

  /** Returns the number of dropped events since the last call. */
  takeLeft(): number {
    const left = this.#left
    this.#left = 0
    return left
  }

  look(met: OnMet): readonly Unknown[] {
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) met(one)
    return NOTHING_UNKNOWN
  }
}

function textIn(data: object, field: string): string {
  const value: unknown = Reflect.get(data, field)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

const firstIn = (data: object, ...fields: readonly string[]): string =>
  fields.map((field) => textIn(data, field)).find((text) => text !== '') ?? ''

/** What an event without a reason still tells, by its kind. */
const DETAILS: Readonly<Record<string, readonly [words: string, field: string]>> = {
  certificate: ['valid until', 'notAfter'],
  login: ['from', 'address'],
}

function readReason(kind: string, data: object): string {
  // A job that failed has its reason in its problem.
  const reason = textIn(data, 'reason') || textIn(Object(Reflect.get(data, 'problem')), 'message')
  const [words, field = ''] = DETAILS[kind] ?? []
  const detail = textIn(data, field)
  return reason !== '' || detail === '' ? reason : `${words} ${detail}`
}

const joined = (parts: readonly string[], by: string): string => parts.filter((part) => part !== '').join(by)

function metBy(rule: AlertRule, kind: string, state: string, data: object): Met {
  // The fields that may name a node or a certificate beside the actual subject come last.
  const id = firstIn(data, 'id', 'floatingIpId', 'order', 'email', 'ip', 'nodeId', 'fingerprint')
  const backend = textIn(data, 'backendName')
  const name = firstIn(data, 'name', 'title', 'email', 'ip', 'id')
  const object = { type: kind, id: joined([textIn(data, 'backendId'), id], '/'), name }
  // Most events of nodes and applies name nothing.
  const subject = joined([kind, name, backend === '' ? '' : `in ${backend}`], ' ')
  const text = cutText(joined([subject, state, readReason(kind, data)], ': '), TEXT_MAX)
  // A repetition for the same object is the same alert.
  return { rule, key: `${kind}/${object.id}/${state}`, object, value: null, text }
}
