import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import type { ConfigStore, Put } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import type { AlertsActor } from '../context/alerts.ts'
import type { Events } from '../events/events.ts'
import type { AlertMessage, AlertRule, AlertTarget, Sending, Sent, Silence, ToldAlert } from '../model/alerts.ts'
import type { Certificate } from '../model/certificates.ts'
import type { ConfigView } from '../model/sections.ts'
import type { AlertShown, DeliveriesShown, TargetTested } from '../model/shown-alerts.ts'
import { type Alert, ALERT_PREFIX, AlertBook, type ToTell } from './alert-book.ts'
import { EventConditions } from './event-conditions.ts'
import { type LayerFigures, LiveConditions } from './live-conditions.ts'
import { type Conditions, type Met, unknownKey } from './met.ts'
import type { NodeConditions } from './node-conditions.ts'
import { DROPPED_PREFIX, type Kept, MESSAGE_PREFIX, Outbox } from './outbox.ts'
import { deliveriesShown, shownAlert } from './shown.ts'
import { Silences } from './silences.ts'

const LOOK_EVERY_MS = 1_000
/** Maximum number of alerts listed in one message. */
const TOLD_MAX = 20
const CLOSE_MS = 1_000

export interface AlertsParts {
  readonly store: Pick<ConfigStore, 'alerts' | 'silences' | 'runningVersion'>
  readonly running: ConfigView
  readonly layers: readonly LayerFigures[]
  readonly conditions: NodeConditions
  readonly events: Pick<Events, 'subscribe'>
  /** Passes messages to the sending thread. */
  readonly send: (sending: Sending) => Promise<Sent>
  readonly allowsLoopback: boolean
  /** Internal networks in which targets may be all the same. */
  readonly allowed: readonly string[]
  /** Whether this node reports what concerns the whole cluster. */
  readonly isSpeaker: () => boolean
  readonly nodeId: string
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** The compiled rules of the running configuration. */
interface Compiled {
  readonly version: number
  readonly rules: ReadonlyMap<string, AlertRule>
  readonly targets: ReadonlyMap<string, AlertTarget>
  readonly conditions: readonly Conditions[]
  readonly events: EventConditions
}

/** Evaluates the rules once a second, and sends messages about what fires. */
export class Alerts implements AlertsActor {
  readonly #parts: AlertsParts
  readonly #book: AlertBook
  readonly #outbox: Outbox
  readonly #silences: Silences
  readonly #looks: Repeated
  #compiled: Compiled
  readonly #stopEvents: () => void
  #looking: Promise<void> | undefined
  /** Rows to be written, by key; undefined removes a row. They stay here while the disk is full. */
  readonly #unwritten = new Map<string, Put | undefined>()
  /** The messages among them. */
  #made: Kept[] = []

  constructor(parts: AlertsParts) {
    const { store, clock, log } = parts
    this.#parts = parts
    const rows = store.alerts.entries()
    const of = (prefix: string) => rows.filter(({ key }) => key.startsWith(prefix))
    this.#silences = new Silences(store.silences, clock)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by this class only
    const alerts = of(ALERT_PREFIX).map(({ value }) => value as Alert)
    this.#book = new AlertBook(alerts, {
      clock,
      isSilenced: (alert) => this.#silences.of(alert) !== undefined,
      isOurs: (rule, met) => !isOfCluster(rule, met) || parts.isSpeaker(),
    })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `Outbox` only
    const kept = of(MESSAGE_PREFIX).map(({ value }) => value as Kept)
    const dropped = of(DROPPED_PREFIX).map(
      ({ key, value }) => [key.slice(DROPPED_PREFIX.length), Number(value)] as const,
    )
    this.#outbox = new Outbox(kept, new Map(dropped), {
      table: store.alerts,
      send: (targetId, messages, having) => this.#send(targetId, messages, having),
      clock,
      log,
    })
    this.#compiled = this.#compile()
    // Subscribed now, because a start publishes events before the first look.
    this.#stopEvents = parts.events.subscribe((event) => this.#compiled.events.take(event))
    this.#looks = new Repeated('alerts', () => this.look(), LOOK_EVERY_MS, log)
  }

  start(): void {
    this.#outbox.wake()
    this.#looks.start()
  }

  async close(): Promise<void> {
    this.#looks.stop()
    this.#stopEvents()
    // A failed look is reported by the look itself.
    await this.#looking?.catch(() => undefined)
    await this.#lookAtLastEvents()
    await this.#outbox.close(new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref()))
  }

  /**
   * Evaluates the last events, which would not be seen again. All other conditions still hold at the next start; by
   * now, much of this node has ended.
   */
  async #lookAtLastEvents(): Promise<void> {
    const { events, rules } = this.#compiled
    const others = [...rules.values()].filter(({ when }) => when.type !== 'event')
    try {
      this.#decide([events], new Set(others.map(({ id }) => id)))
      await this.#write()
    } catch (error) {
      this.#parts.log.warn('the last events before the shutdown were not processed', { reason: String(error) })
    }
  }

  look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #lookNow(): Promise<void> {
    const { store, running, log } = this.#parts
    if (this.#compiled.version !== store.runningVersion) {
      const { targets: before } = this.#compiled
      this.#compiled = this.#compile(this.#compiled.events)
      const gone = this.#outbox.forget((id) => running.get('alertTargets', id) !== undefined)
      for (const key of gone) this.#unwritten.set(key, undefined)
      this.#outbox.wake((id) => !isDeepStrictEqual(before.get(id), running.get('alertTargets', id)))
    }
    this.#decide(this.#compiled.conditions)
    const left = this.#compiled.events.takeLeft() + this.#book.takeLeft()
    if (left > 0) log.warn('there are too many alerts', { count: left })
    await this.#write()
  }

  /** `unlooked`: keys of rules that these conditions do not evaluate. */
  #decide(conditions: readonly Conditions[], unlooked: ReadonlySet<string> = new Set()): void {
    this.#book.begin()
    const unknown = conditions.flatMap((one) => one.look(this.#book.met))
    this.#book.end(this.#compiled.rules, new Set([...unlooked, ...unknown.map(unknownKey)]))
    for (const group of this.#book.takeToTell()) this.#tell(group)
    const { puts, removed } = this.#book.takeChanges()
    for (const put of puts) this.#unwritten.set(put.key, put)
    for (const key of removed) this.#unwritten.set(key, undefined)
  }

  #tell(group: ToTell): void {
    const targets = group.rule.targets.filter((id) => this.#parts.running.get('alertTargets', id)?.enabled === true)
    if (targets.length === 0) return
    const message = this.#messageOf(group)
    const { made, puts } = this.#outbox.rowsFor([{ message, targets }])
    for (const put of puts) this.#unwritten.set(put.key, put)
    this.#made.push(...made)
    this.#book.noted(group, message.id)
  }

  #messageOf({ rule, phase, alerts }: ToTell): AlertMessage {
    const { nodeId, clock } = this.#parts
    return {
      id: newId(),
      phase,
      severity: rule.severity,
      rule: { id: rule.id, name: rule.name },
      nodeId,
      at: new Date(clock.now_ms()).toISOString(),
      alerts: alerts.slice(0, TOLD_MAX).map(toldOf),
      count: alerts.length,
    }
  }

  /** Alerts and their messages are written together, so that neither is ever stored without the other. */
  async #write(): Promise<void> {
    if (this.#unwritten.size === 0) return
    const puts = [...this.#unwritten.values()].filter((put) => put !== undefined)
    const removed = [...this.#unwritten].flatMap(([key, put]) => (put === undefined ? [key] : []))
    // Nothing is added meanwhile: looks do not overlap.
    await this.#parts.store.alerts.write(puts, removed)
    this.#unwritten.clear()
    this.#outbox.added(this.#made)
    this.#made = []
  }

  #compile(before?: EventConditions): Compiled {
    const { store, running, layers, conditions } = this.#parts
    const rules = [...running.list('alertRules')].filter(({ enabled }) => enabled)
    const events = new EventConditions(rules, before)
    return {
      version: store.runningVersion,
      rules: new Map(rules.map((rule) => [rule.id, rule])),
      targets: new Map([...running.list('alertTargets')].map((target) => [target.id, target])),
      conditions: [...layers.map((layer) => new LiveConditions(layer, rules)), conditions.of(rules), events],
      events,
    }
  }

  async #send(targetId: string, messages: readonly AlertMessage[], having: readonly string[]) {
    const { running } = this.#parts
    const target = running.get('alertTargets', targetId)
    if (target?.enabled !== true) return undefined
    return this.#sendTo({ target, messages, having }, running.get('certificates', target.certificateId ?? ''))
  }

  #sendTo(what: Pick<Sending, 'target' | 'messages' | 'having'>, certificate: Certificate | undefined): Promise<Sent> {
    const { allowsLoopback, allowed, send } = this.#parts
    const shown = certificate && { cert: certificate.chain, key: certificate.privateKey }
    return send({ ...what, shown, hostname: hostname(), allowsLoopback, allowed })
  }

  async test(target: AlertTarget, certificate: Certificate | undefined, by: string): Promise<TargetTested> {
    const { nodeId, clock } = this.#parts
    const at = new Date(clock.now_ms()).toISOString()
    const text = `${by} is testing the alert target ${target.name}; there is no problem`
    const alert: ToldAlert = {
      id: newId(),
      kind: 'test',
      objectId: target.id,
      objectName: target.name,
      text,
      value: null,
      since: at,
    }
    const rule = { id: 'test', name: 'Test' }
    const message: AlertMessage = {
      id: newId(),
      phase: 'test',
      severity: 'info',
      rule,
      nodeId,
      at,
      alerts: [alert],
      count: 1,
    }
    const { failure } = await this.#sendTo({ target, messages: [message], having: [] }, certificate)
    const ok = failure === undefined
    return {
      ok,
      stage: failure?.stage ?? 'send',
      message: failure?.reason ?? 'The target has accepted the message',
      messageId: message.id,
    }
  }

  list(state?: AlertShown['state'], limit = Number.POSITIVE_INFINITY): readonly AlertShown[] {
    const all = [
      ...(state === 'resolved' ? [] : this.#book.firing),
      ...(state === undefined || state === 'resolved' ? this.#book.ended : []),
    ]
    const { running } = this.#parts
    const shown: AlertShown[] = []
    // Ids sort by creation too.
    for (const alert of all.toSorted((a, b) => (a.since + a.id < b.since + b.id ? 1 : -1))) {
      if (shown.length >= limit) break
      const one = shownAlert(alert, this.#silences.of(alert), this.#outbox, running)
      if (state === undefined || one.state === state) shown.push(one)
    }
    return shown
  }

  deliveries(): readonly DeliveriesShown[] {
    const { running, clock } = this.#parts
    return deliveriesShown(running.list('alertTargets'), this.#outbox, clock.now_ms())
  }

  silences(): readonly Silence[] {
    return this.#silences.all
  }
  silence(asked: Omit<Silence, 'id' | 'startedAt'>): Promise<string> {
    return this.#silences.begin(asked)
  }
  endSilence(id: string): Promise<void> {
    return this.#silences.end(id)
  }
}

/**
 * Returns whether every node sees the condition, so that one of them reports it. Only a node itself can report that it
 * has no majority.
 */
function isOfCluster({ when }: AlertRule, { object, key }: Pick<Met, 'object' | 'key'>): boolean {
  const { type } = when
  if (type === 'cluster') return object.type !== 'quorum'
  if (type === 'event')
    return object.type === 'cluster'
      ? !/(?:quorum|halted|removed)/.test(key)
      : /^certificate\/.*\/expire[sd]$/.test(key)
  return type === 'certificateEnd' || type === 'applyWaiting'
}

const toldOf = ({ id, kind, object, text, value, since }: Alert): ToldAlert => ({
  id,
  kind,
  objectId: object.id,
  objectName: object.name,
  text,
  value,
  since,
})
