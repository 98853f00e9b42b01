import type { Put } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { AlertCondition, AlertRule, Phase, Severity } from '../model/alerts.ts'
import type { AlertObject, Met } from './met.ts'

/** Active alerts beyond this number are counted and reported, but not listed. */
const LISTED_MAX = 2_000
/**
 * Maximum number of active alerts, reported or not. Names in events, which anybody may make up, must not fill the
 * memory.
 */
const ACTIVE_MAX = 50_000
/** Maximum number of ended alerts that are kept. */
const ENDED_MAX = 1_000
const ENDED_AGE_MS = 7 * 86_400_000
/** Maximum number of messages remembered per alert. */
const MESSAGES_MAX = 20
/**
 * One node reports what concerns the whole cluster. If that node is lost within this time, another one reports; after
 * this time, the alert counts as reported.
 */
const HANDED_OVER_MS = 60_000

/** An alert as it is stored. */
export interface Alert {
  readonly id: string
  readonly key: string
  readonly ruleId: string
  readonly ruleName: string
  readonly severity: Severity
  readonly kind: AlertCondition
  readonly object: AlertObject
  readonly text: string
  readonly value: number | null
  /** ISO 8601. */
  readonly since: string
  readonly endedAt: string | null
  readonly count: number
  /** When it was reported last, in milliseconds since 1970; undefined if it was not. */
  readonly toldAt_ms?: number
  readonly messages: readonly string[]
  /** Whether it was reported, ended during a silence, and its end is reported when the silence is over. */
  readonly isEndOwed?: boolean
}

/** A condition that holds, whether or not it has held for long enough. */
interface Active {
  rule: AlertRule
  met: Met
  readonly key: string
  readonly since_ms: number
  readonly begun_ms: number
  firedAt_ms: number | undefined
  seen: number
  count: number
  clearSince_ms: number | undefined
  alert: Alert | undefined
  /** Whether it is not stored, because there are too many. */
  readonly isUnlisted: boolean
}

/** Alerts of one rule that are reported together. */
export interface ToTell {
  readonly rule: AlertRule
  readonly phase: Exclude<Phase, 'test'>
  readonly alerts: readonly Alert[]
}

export interface BookParts {
  readonly clock: Clock
  readonly isSilenced: (alert: Pick<Alert, 'ruleId' | 'object'>) => boolean
  /** Whether this node reports it; otherwise another node of the cluster does. */
  readonly isOurs: (rule: AlertRule, met: Pick<Met, 'object' | 'key'>) => boolean
}

export const ALERT_PREFIX = 'a'
const keyOf = (rule: Pick<AlertRule, 'id'>, key: string) => `${rule.id} ${key}`
function isUnknown({ rule: { id: ruleId }, key }: Pick<Active, 'rule' | 'key'>, unknown: ReadonlySet<string>): boolean {
  if (unknown.size === 0) return false
  const [layer] = key.split('/', 1)
  return unknown.has(ruleId) || unknown.has(`${ruleId} ${layer}`)
}
const isEvent = ({ when }: AlertRule) => when.type === 'event'

/** The alerts, and which of them to report: decided once per look. */
export class AlertBook {
  readonly #parts: BookParts
  readonly #active = new Map<string, Active>()
  /** Ended alerts by id, in the order of their ends. */
  readonly #ended: Map<string, Alert>
  /** Ids of the ended alerts whose end is to be reported after a silence. */
  readonly #owed: Set<string>
  /** Alerts of an earlier run, until their rules are evaluated. */
  #found: Map<string, Alert>
  #look = 0
  #left = 0
  #changed = new Set<Alert>()
  #removed: string[] = []
  #toTell = new Map<string, { rule: AlertRule; phase: ToTell['phase']; alerts: Alert[] }>()

  constructor(kept: readonly Alert[], parts: BookParts) {
    this.#parts = parts
    const byEnd = (a: Alert, b: Alert) => String(a.endedAt).localeCompare(String(b.endedAt))
    const ended = kept.filter(({ endedAt }) => endedAt !== null).toSorted(byEnd)
    this.#ended = new Map(ended.map((alert) => [alert.id, alert]))
    this.#owed = new Set(ended.flatMap(({ id, isEndOwed }) => (isEndOwed === true ? [id] : [])))
    const firing = kept.filter(({ endedAt }) => endedAt === null)
    this.#found = new Map(firing.map((alert) => [keyOf({ id: alert.ruleId }, alert.key), alert]))
  }

  get firing(): readonly Alert[] {
    const listed = [...this.#active.values()].flatMap(({ alert, isUnlisted }) => (isUnlisted ? [] : (alert ?? [])))
    return [...listed, ...this.#found.values()]
  }
  get ended(): readonly Alert[] {
    return [...this.#ended.values()]
  }

  /** Returns the number of alerts beyond the maximum since the last call. */
  takeLeft(): number {
    const left = this.#left
    this.#left = 0
    return left
  }

  begin(): void {
    this.#look++
  }

  /** Called for each condition in every look in which it holds. */
  readonly met = (met: Met): void => {
    const key = keyOf(met.rule, met.key)
    if (!this.#active.has(key) && this.#active.size >= ACTIVE_MAX) return void this.#left++
    const known = this.#active.get(key) ?? this.#begun(met, key)
    known.rule = met.rule
    known.met = met
    if (known.seen !== this.#look || isEvent(met.rule)) known.count++
    known.seen = this.#look
    known.clearSince_ms = undefined
    const { alert } = known
    if (alert === undefined || (alert.value === met.value && alert.text === met.text)) return
    // A repeated message shows the present state.
    known.alert = { ...alert, object: met.object, value: met.value, text: met.text }
  }

  #begun(met: Met, key: string): Active {
    const { clock } = this.#parts
    const found = this.#found.get(key)
    this.#found.delete(key)
    const active: Active = {
      rule: met.rule,
      met,
      key: met.key,
      since_ms: clock.now_ms(),
      begun_ms: clock.monotonic_ms(),
      firedAt_ms: found === undefined ? undefined : clock.monotonic_ms(),
      seen: -1,
      count: found?.count ?? 0,
      clearSince_ms: undefined,
      alert: found,
      isUnlisted: found === undefined && this.#active.size >= LISTED_MAX,
    }
    this.#active.set(key, active)
    return active
  }

  /**
   * Ends the look. `rules` are the applied and enabled ones. Alerts whose state is unknown (see `unknownKey`) stay as
   * they are.
   */
  end(rules: ReadonlyMap<string, AlertRule>, unknown: ReadonlySet<string>): void {
    this.#takeOver(rules)
    this.#tellOwed(rules)
    for (const [key, active] of this.#active) {
      const rule = rules.get(active.rule.id)
      if (rule === undefined) this.#close(key, active, false)
      else {
        active.rule = rule
        if (active.seen === this.#look) this.#holds(active)
        else if (!isUnknown(active, unknown)) this.#isOver(key, active)
      }
    }
    this.#trim()
  }

  /** Continues the alerts that were firing when the daemon ended and whose condition has not been met since. */
  #takeOver(rules: ReadonlyMap<string, AlertRule>): void {
    for (const [key, alert] of this.#found) {
      const { object, value, text, key: own } = alert
      const rule = rules.get(alert.ruleId)
      this.#found.delete(key)
      if (rule === undefined) this.#endedNow(alert)
      else {
        this.#found.set(key, alert)
        this.#begun({ rule, key: own, object, value, text }, key)
      }
    }
  }

  #holds(active: Active): void {
    const { clock } = this.#parts
    const now_ms = clock.monotonic_ms()
    const { rule } = active
    if (active.alert === undefined) {
      if (!isEvent(rule) && now_ms - active.begun_ms < rule.for * 1_000) return
      active.firedAt_ms = now_ms
      this.#change(active, this.#fired(active))
    } else if (active.count !== active.alert.count && isEvent(rule)) {
      this.#change(active, { ...active.alert, count: active.count })
    }
    this.#tellIfDue(active)
  }

  #fired({ rule, met, since_ms, count }: Active): Alert {
    const { id: ruleId, name: ruleName, severity, when } = rule
    const { key, object, text, value } = met
    const since = new Date(since_ms).toISOString()
    const about = { ruleId, ruleName, severity, kind: when.type, object, text, value }
    return { id: newId(), key, ...about, since, endedAt: null, count, messages: [] }
  }

  #tellIfDue(active: Active): void {
    const { clock, isSilenced, isOurs } = this.#parts
    const { rule, alert, met, firedAt_ms = 0 } = active
    const phase = alert && this.#phaseDue(rule, alert)
    // Checked last, because matching silences is expensive.
    if (alert === undefined || phase === undefined || isSilenced(alert)) return
    if (isOurs(rule, met)) this.#tell(active, phase)
    else if (phase === 'firing' && clock.monotonic_ms() - firedAt_ms > HANDED_OVER_MS)
      this.#change(active, { ...alert, toldAt_ms: clock.now_ms() })
  }

  #phaseDue(rule: AlertRule, { toldAt_ms }: Alert): 'firing' | 'repeated' | undefined {
    if (toldAt_ms === undefined) return 'firing'
    if (isEvent(rule) || rule.repeatEvery === 0) return undefined
    // A clock that was set back must not delay the repetition.
    const since_ms = Math.abs(this.#parts.clock.now_ms() - toldAt_ms)
    return since_ms >= rule.repeatEvery * 1_000 ? 'repeated' : undefined
  }

  #tell(active: Active, phase: ToTell['phase']): void {
    const { rule, alert } = active
    if (alert === undefined) return
    this.#change(active, { ...alert, toldAt_ms: this.#parts.clock.now_ms() })
    if (active.alert !== undefined) this.#together(rule, phase, active.alert)
  }

  #together(rule: AlertRule, phase: ToTell['phase'], alert: Alert): void {
    const key = `${rule.id} ${phase}`
    const group = this.#toTell.get(key) ?? { rule, phase, alerts: [] }
    group.alerts.push(alert)
    this.#toTell.set(key, group)
  }

  #isOver(key: string, active: Active): void {
    const now_ms = this.#parts.clock.monotonic_ms()
    if (active.alert === undefined) return void this.#active.delete(key)
    active.clearSince_ms ??= now_ms
    if (now_ms - active.clearSince_ms >= active.rule.clearFor * 1_000) this.#close(key, active, true)
  }

  #close(key: string, active: Active, isTold: boolean): void {
    const { rule, alert, met } = active
    this.#active.delete(key)
    if (alert === undefined) return
    const { isSilenced, isOurs } = this.#parts
    const isWanted = isTold && rule.resolve && !isEvent(rule) && alert.toldAt_ms !== undefined
    const isEndOwed = isWanted && isSilenced(alert)
    const ended = this.#endedNow(alert, { isUnlisted: active.isUnlisted, isEndOwed })
    if (isEndOwed) this.#owed.add(ended.id)
    else if (isWanted && isOurs(rule, met)) this.#together(rule, 'resolved', ended)
  }

  /** Whoever was told that it fires is told that it no longer does, once the silence is over. */
  #tellOwed(rules: ReadonlyMap<string, AlertRule>): void {
    for (const id of this.#owed) {
      const alert = this.#ended.get(id)
      const rule = rules.get(alert?.ruleId ?? '')
      if (alert !== undefined && rule?.resolve === true && this.#parts.isSilenced(alert)) continue
      this.#owed.delete(id)
      if (alert === undefined) continue
      const { isEndOwed: _, ...told } = alert
      this.#keepEnded(told)
      if (rule?.resolve === true && this.#parts.isOurs(rule, alert)) this.#together(rule, 'resolved', told)
    }
  }

  #endedNow(alert: Alert, { isUnlisted = false, isEndOwed = false } = {}): Alert {
    const endedAt = new Date(this.#parts.clock.now_ms()).toISOString()
    const ended = { ...alert, endedAt, ...(isEndOwed ? { isEndOwed } : {}) }
    this.#changed.delete(alert)
    if (!isUnlisted) this.#keepEnded(ended)
    return ended
  }

  #keepEnded(alert: Alert): void {
    const before = this.#ended.get(alert.id)
    if (before !== undefined) this.#changed.delete(before)
    this.#changed.add(alert)
    this.#ended.set(alert.id, alert)
  }

  #change(active: Active, alert: Alert): void {
    if (active.alert !== undefined) this.#changed.delete(active.alert)
    active.alert = alert
    if (!active.isUnlisted) this.#changed.add(alert)
  }

  #trim(): void {
    const oldest = new Date(this.#parts.clock.now_ms() - ENDED_AGE_MS).toISOString()
    for (const alert of this.#ended.values()) {
      if (this.#ended.size <= ENDED_MAX && String(alert.endedAt) >= oldest) return
      this.#ended.delete(alert.id)
      this.#changed.delete(alert)
      this.#removed.push(ALERT_PREFIX + alert.id)
    }
  }

  /** Returns the alerts that this look decided to report. `noted` adds the ids of their messages. */
  takeToTell(): readonly ToTell[] {
    const told = [...this.#toTell.values()]
    this.#toTell = new Map()
    return told
  }

  /** Records that a message about these alerts exists. */
  noted({ alerts }: ToTell, messageId: string): void {
    for (const { id, ruleId, key } of alerts) {
      const active = this.#active.get(keyOf({ id: ruleId }, key))
      const now = active?.alert?.id === id ? active.alert : this.#ended.get(id)
      if (now === undefined) continue
      const noted = { ...now, messages: [...now.messages, messageId].slice(-MESSAGES_MAX) }
      if (active?.alert === now) this.#change(active, noted)
      else this.#keepEnded(noted)
    }
  }

  /** Returns the changes to write since the last call. */
  takeChanges(): { readonly puts: readonly Put[]; readonly removed: readonly string[] } {
    const puts = [...this.#changed].map((value) => ({ key: ALERT_PREFIX + value.id, value }))
    const removed = this.#removed
    this.#changed = new Set()
    this.#removed = []
    return { puts, removed }
  }
}
