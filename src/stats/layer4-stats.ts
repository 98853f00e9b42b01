import { randomBytes } from 'node:crypto'
import { TWO_SECOND_TIERS } from '../../storage/archive/tiers.ts'
import type {
  ArchiveOptions,
  FromArchiveThread,
  HealthChange,
  IpvsSource,
  TableMessage,
} from '../../workers/archive/messages.ts'
import type { Clock } from '../clock.ts'
import type { Director } from '../ipvs/director.ts'
import { type IpvsPlan, ipvsPlan } from '../ipvs/names.ts'
import type { Log } from '../log.ts'
import type { ConfigView } from '../model/sections.ts'
import { ArchiveSide } from './archive-side.ts'
import type { HistoryAnswers } from './history.ts'
import { Layer4Health } from './layer4-health.ts'
import { Layer4Live } from './layer4-live.ts'
import type { ObjectNames } from './names.ts'

/** Folder of its archive, beside that of Layer 7. */
export const LAYER4_ARCHIVE = 'archive-layer4'
/** Seconds of the archive: the kernel adds its counters up every two of ours. */
const STEP_S = 2

export interface Layer4StatsOptions {
  /** Where its archive is; undefined when no history is kept. */
  readonly archive: ArchiveOptions<IpvsSource> | undefined
  readonly running: ConfigView
  /** Of the running configuration. */
  readonly revision: () => number
  readonly names: ObjectNames
  readonly applianceId: string
  /** Whether an apply is under way. */
  readonly isChanging: () => boolean
  /** Who checks real servers. */
  readonly director: Pick<Director, 'look' | 'rest'>
  /** Told which real servers went down or came back. */
  readonly onHealth: (changes: readonly HealthChange[]) => void
  readonly log: Log
  readonly clock: Clock
}

/** The statistics of Layer 4: which figures of the kernel's table are whose, live and over time. */
export class Layer4Stats {
  readonly archive: Layer4StatsOptions['archive']
  readonly live: Layer4Live
  readonly history: HistoryAnswers
  readonly #options: Layer4StatsOptions
  readonly #health: Layer4Health
  readonly #side: ArchiveSide
  #plan: IpvsPlan
  /** What the archive thread goes by; none before its first message. */
  #sent = -1
  #wasChanging = false
  #up: boolean | undefined

  constructor(options: Layer4StatsOptions) {
    const { archive, running, revision, names, applianceId } = options
    const nonce = randomBytes(6).toString('base64url')
    this.archive = archive
    this.#options = options
    this.#health = new Layer4Health(running)
    this.#plan = ipvsPlan(running, revision())
    this.live = new Layer4Live({ running, revision, names, health: this.#health, nonce })
    const side = { directory: archive?.directory ?? '', names, applianceId, nonce, tiers: inSeconds, log: options.log }
    this.#side = new ArchiveSide({ ...side, message: 'Layer 4 history', step_s: STEP_S })
    this.history = this.#side.history
  }

  /** What the archive thread has to be told; undefined when it knows. */
  newPlan(): IpvsPlan | undefined {
    const revision = this.#options.revision()
    if (this.#plan.version !== revision) this.#plan = ipvsPlan(this.#options.running, revision)
    if (this.#sent === revision) return undefined
    this.#sent = revision
    return this.#plan
  }

  receive(message: FromArchiveThread): void {
    switch (message.type) {
      case 'ready':
        this.#sent = -1
        return this.#side.ready(message)
      case 'slab':
        return this.#side.slab(message)
      case 'objects':
        return this.#side.placed(message)
      case 'table':
        return this.#read(message)
      case 'warning':
        return this.#options.log.warn(message.message, { detail: message.detail, layer: 4 })
    }
  }

  #read(message: TableMessage): void {
    const { figures, plan, up, since_ms, reason } = message
    this.#side.ticked(message)
    const { log } = this.#options
    if (up !== this.#up) {
      if (up) log.info("the kernel's balancing table is read")
      else log.warn("the kernel's balancing table cannot be read", { reason })
    }
    this.#up = up
    // Of another configuration than the one that runs now: its rows would be those of others.
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

  /** The thread ended; another one is on its way. */
  lost(reason: string): void {
    this.#health.unknown()
    this.live.update({ figures: undefined, since_ms: this.#options.clock.now_ms(), reason }, undefined)
  }

  close(): Promise<void> {
    return this.#side.close()
  }
}

const inSeconds = TWO_SECOND_TIERS.map((tier) => ({ ...tier, step_s: tier.step_s * STEP_S }))
