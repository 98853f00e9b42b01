import { statfs } from 'node:fs/promises'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import type { AlertRule } from '../model/alerts.ts'
import { type AlertObject, type Conditions, type Met, NOTHING_UNKNOWN, type OnMet, type Unknown } from './met.ts'
import { type Choice, choiceOf } from './live-conditions.ts'

const DAY_MS = 86_400_000
const CERTIFICATES_EVERY_MS = 60_000
const DISK_EVERY_MS = 10_000
const DAYS_USUAL = 30
const PERCENT_USUAL = 90

/** The end of a certificate. */
export interface Ending {
  readonly id: string
  readonly name: string
  readonly notAfter: Date
  /** Until when its end is not reported, because an order renews it before. */
  readonly quietUntil_ms?: number | undefined
}

/** A problem of the cluster, as one node sees it. */
export interface ClusterTrouble {
  readonly object: AlertObject
  readonly text: string
}

export interface NodeConditionsParts {
  readonly certificates: () => readonly Ending[]
  readonly store: Pick<ConfigStore, 'unconfirmed' | 'changeCount' | 'underWay'>
  readonly stateFolder: string
  readonly nodeId: string
  readonly cluster: () => readonly ClusterTrouble[]
  readonly clock: Clock
}

/** Conditions other than live figures: configuration, certificates, disk, cluster. */
export class NodeConditions {
  readonly #parts: NodeConditionsParts
  #endings: readonly Ending[] = []
  #certificatesAt_ms = Number.NEGATIVE_INFINITY
  #diskAt_ms = Number.NEGATIVE_INFINITY
  #isReading = false
  /** Percent in use; undefined before the first reading, and after a failed one. */
  #used: number | undefined

  constructor(parts: NodeConditionsParts) {
    this.#parts = parts
  }

  of(rules: readonly AlertRule[]): Conditions {
    const some = rules.filter(({ when: { type } }) => type !== 'threshold' && type !== 'serverDown' && type !== 'event')
    const choices = some.map((rule) => [rule, choiceOf(rule)] as const)
    return { look: (met) => choices.flatMap(([rule, isChosen]) => this.#look(rule, isChosen, met)) }
  }

  #look(rule: AlertRule, isChosen: Choice, met: OnMet): readonly Unknown[] {
    switch (rule.when.type) {
      case 'certificateEnd':
        return this.#certificates(rule, isChosen, met)
      case 'applyWaiting':
        return this.#applies(rule, met)
      case 'disk':
        return this.#disk(rule, met)
      default:
        for (const { object, text } of this.#parts.cluster()) met(about(rule, object, null, text))
        return NOTHING_UNKNOWN
    }
  }

  #certificates(rule: AlertRule, isChosen: Choice, met: OnMet): readonly Unknown[] {
    const { certificates, clock } = this.#parts
    const [now_ms, mono_ms] = [clock.now_ms(), clock.monotonic_ms()]
    if (mono_ms - this.#certificatesAt_ms >= CERTIFICATES_EVERY_MS) {
      this.#certificatesAt_ms = mono_ms
      this.#endings = certificates()
    }
    for (const { id, name, notAfter, quietUntil_ms = 0 } of this.#endings) {
      const days = (notAfter.getTime() - now_ms) / DAY_MS
      if (days > (rule.when.value ?? DAYS_USUAL) || now_ms < quietUntil_ms) continue
      const object = { type: 'certificate', id, name }
      if (!isChosen(object)) continue
      const ends = days < 0 ? 'has expired' : 'expires'
      const text = `the certificate ${name} ${ends} at ${notAfter.toISOString()}`
      met(about(rule, object, Math.floor(days), text))
    }
    return NOTHING_UNKNOWN
  }

  #applies(rule: AlertRule, met: OnMet): readonly Unknown[] {
    const { store } = this.#parts
    const { waits } = rule.when
    const unconfirmed = waits === 'apply' ? undefined : store.unconfirmed()
    if (unconfirmed !== undefined) {
      const { revision, by, confirmBy } = unconfirmed
      const object = { type: 'apply', id: 'confirmation', name: `revision ${revision}` }
      met(about(rule, object, null, `revision ${revision} by ${by} waits for confirmation until ${confirmBy}`))
    }
    // While an apply is under way, its changes are not reported.
    const count = waits === 'confirmation' || store.underWay() !== undefined ? 0 : store.changeCount
    if (count > 0) {
      const object = { type: 'apply', id: 'changes', name: 'pending changes' }
      met(about(rule, object, count, `${count} changes wait for an apply`))
    }
    return NOTHING_UNKNOWN
  }

  #disk(rule: AlertRule, met: OnMet): readonly Unknown[] {
    const { stateFolder, nodeId, clock } = this.#parts
    if (clock.monotonic_ms() - this.#diskAt_ms >= DISK_EVERY_MS && !this.#isReading) void this.#readDisk()
    const used = this.#used
    if (used === undefined) return [{ ruleId: rule.id }]
    if (used <= (rule.when.value ?? PERCENT_USUAL)) return NOTHING_UNKNOWN
    const object = { type: 'disk', id: nodeId, name: stateFolder }
    met(about(rule, object, used, `the disk of ${stateFolder} is ${used} percent full`))
    return NOTHING_UNKNOWN
  }

  /** As df counts: the space that accounts other than root may use. */
  async #readDisk(): Promise<void> {
    this.#isReading = true
    try {
      const { blocks, bfree, bavail } = await statfs(this.#parts.stateFolder)
      const used = blocks - bfree
      this.#used = used + bavail === 0 ? undefined : Math.ceil((used / (used + bavail)) * 100)
    } catch {
      this.#used = undefined
    }
    this.#diskAt_ms = this.#parts.clock.monotonic_ms()
    this.#isReading = false
  }
}

const about = (rule: AlertRule, object: AlertObject, value: number | null, text: string): Met => ({
  rule,
  key: `${object.type}/${object.id}`,
  object,
  value,
  text,
})
