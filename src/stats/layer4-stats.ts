import { TWO_SECOND_TIERS } from '../../storage/archive/tiers.ts'
import type {
  ArchiveOptions,
  HealthChange,
  IpvsSource,
  IpvsTick,
  TickMessage,
  ToArchiveThread,
} from '../../workers/archive/messages.ts'
import type { Clock } from '../base/clock.ts'
import type { Director } from '../ipvs/director.ts'
import { type IpvsPlan, ipvsPlan } from '../ipvs/names.ts'
import type { Log } from '../base/log.ts'
import type { ConfigView } from '../model/sections.ts'
import { ArchiveSide } from './archive-side.ts'
import { Layer4Health } from './layer4-health.ts'
import { Layer4Live } from './layer4-live.ts'
import type { ObjectNames } from './names.ts'

/** Folder of the Layer 4 archive, beside that of Layer 7. */
export const LAYER4_ARCHIVE = 'archive-layer4'
/** Length of the archive's seconds: the kernel adds up its counters every two seconds. */
const STEP_S = 2

export interface Layer4StatsOptions {
  readonly archive: ArchiveOptions<IpvsSource>
  readonly running: ConfigView
  /** Returns the revision of the running configuration. */
  readonly revision: () => number
  readonly names: ObjectNames
  readonly applianceId: string
  /** Whether an apply is under way. */
  readonly isChanging: () => boolean
  /** The keepalived process, which checks real servers. */
  readonly director: Pick<Director, 'look' | 'rest' | 'isAway'>
  /** Called with the real servers that went down or came back. */
  readonly onHealth: (changes: readonly HealthChange[]) => void
  readonly log: Log
  readonly clock: Clock
}

/** The statistics of Layer 4: assigns the figures of the kernel's table to objects, live and over time. */
export class Layer4Stats extends ArchiveSide<IpvsSource, IpvsTick> {
  readonly live: Layer4Live
  readonly #options: Layer4StatsOptions
  readonly #health: Layer4Health
  #plan: IpvsPlan
  /** Revision of the plan that the archive thread uses; -1 before its first message. */
  #sent = -1
  #wasChanging = false
  #up: boolean | undefined
  #reason: string | undefined

  constructor(options: Layer4StatsOptions) {
    const { running, revision, names } = options
    // Both layers log the same texts about their archives.
    const log: Pick<Log, 'warn'> = { warn: (text, fields) => options.log.warn(text, { ...fields, layer: 4 }) }
    super({ ...options, log, message: 'Layer 4 history', step_s: STEP_S, tiers: TWO_SECOND_TIERS })
    this.#options = options
    this.#health = new Layer4Health(running)
    this.#plan = ipvsPlan(running, revision())
    this.live = new Layer4Live({ running, revision, names, health: this.#health, nonce: this.nonce })
  }

  /** The plan of the running configuration, when the thread does not have it yet. */
  override news(): Extract<ToArchiveThread, { readonly type: 'plan' }> | undefined {
    const revision = this.#options.revision()
    if (this.#plan.version !== revision) this.#plan = ipvsPlan(this.#options.running, revision)
    if (this.#sent === revision) return undefined
    this.#sent = revision
    return { type: 'plan', plan: this.#plan }
  }

  /** Returns why the state of the balanced services is unknown; undefined while it is known, or nothing is balanced. */
  fault(): string | undefined {
    if (this.#plan.frontends.length === 0) return undefined
    if (this.#up === false) return `The kernel's balancing table cannot be read: ${this.#reason ?? 'unknown reason'}`
    const { isAway } = this.#options.director
    return isAway ? 'keepalived does not run: the real servers of Layer 4 are not checked' : undefined
  }

  protected override take({ figures, plan, up, since_ms, reason }: TickMessage<IpvsTick>): void {
    const { log } = this.#options
    if (up !== this.#up) {
      if (up) log.info("the kernel's balancing table is read")
      else log.warn("the kernel's balancing table cannot be read", { reason })
    }
    this.#up = up
    this.#reason = reason
    // Figures of another configuration than the running one: their rows belong to other objects.
    const isCurrent = plan === this.#plan.version
    if (figures !== undefined && !isCurrent) return
    if (figures === undefined) this.#health.unknown()
    else this.#judge(figures)
    this.live.update({ figures, since_ms, reason }, isCurrent ? this.#plan : undefined)
  }

  #judge(figures: Float64Array): void {
    const { clock, director, isChanging, onHealth, revision } = this.#options
    if (this.#plan.frontends.length === 0) director.rest()
    else if (!director.look()) return this.#health.unknown()
    const isChangingNow = isChanging() || revision() !== this.#plan.version
    const changes = this.#health.read({
      plan: this.#plan,
      figures,
      now_ms: clock.monotonic_ms(),
      isChanging: isChangingNow || this.#wasChanging,
    })
    this.#wasChanging = isChangingNow
    if (changes.length > 0) onHealth(changes)
  }

  override interrupt(reason: string, since_ms: number): void {
    this.#health.unknown()
    this.live.update({ figures: undefined, since_ms, reason }, undefined)
  }

  override lose(reason: string, now_ms: number): void {
    this.#sent = -1
    super.lose(reason, now_ms)
  }
}
