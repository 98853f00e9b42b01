import { COLUMN, COLUMNS, type IpvsPlan, type PlannedMember } from '../ipvs/names.ts'
import { CHECK_DEFAULTS, type HealthCheckSetting, isBuiltIn } from '../model/health-check.ts'
import type { Health } from '../model/real-server.ts'
import type { ConfigView } from '../model/sections.ts'
import type { HealthChange } from '../../workers/archive/messages.ts'

/** Extra time that a newly added real server gets on top of its first checks. */
const PATIENCE_MS = 10_000

/** The name of a check, and how long its first verdict may take. */
interface Check {
  readonly name: string
  readonly patience_ms: number
}

export interface HealthReading {
  readonly plan: IpvsPlan
  readonly figures: Float64Array
  readonly now_ms: number
  /** Whether a missing real server may be missing because the configuration is being changed. */
  readonly isChanging: boolean
}

const keyOf = (backendId: string, ripId: string): string => `${backendId}/${ripId}`

/** The health of every member of a plan, in its order. */
class Watched {
  readonly places: ReadonlyMap<string, number>
  readonly health: Health[]
  /** The verdict reported last, or that would have been; undefined before a first verdict. */
  readonly verdicts: ('up' | 'down' | undefined)[]
  /** The time since which it should be in the table, on the monotonic clock; NaN while it should not be there. */
  readonly since_ms: Float64Array
  readonly version: number

  constructor(plan: IpvsPlan | undefined, before?: Watched) {
    const keys = (plan?.backends ?? []).flatMap(({ id, members }) => members.map(({ ripId }) => keyOf(id, ripId)))
    this.version = plan?.version ?? -1
    this.places = new Map(keys.map((key, place) => [key, place]))
    const former = keys.map((key) => before?.places.get(key) ?? -1)
    this.health = former.map((place) => before?.health[place] ?? 'unknown')
    this.verdicts = former.map((place) => before?.verdicts[place])
    this.since_ms = Float64Array.from(former, (place) => before?.since_ms[place] ?? Number.NaN)
  }
}

/**
 * Derives the health from the kernel's table: a failed check takes its real server out of the table, so one that should
 * be there and is missing is down.
 */
export class Layer4Health {
  readonly #running: ConfigView
  #watched = new Watched(undefined)

  constructor(running: ConfigView) {
    this.#running = running
  }

  of(backendId: string, ripId: string): Health {
    return this.#watched.health[this.#watched.places.get(keyOf(backendId, ripId)) ?? -1] ?? 'unknown'
  }

  /** Calls `tell` for each real server that is down. */
  eachDown(tell: (backendId: string, ripId: string) => void): void {
    const { places, health } = this.#watched
    for (const [key, place] of places) {
      if (health[place] !== 'down') continue
      const [backendId = '', ripId = ''] = key.split('/')
      tell(backendId, ripId)
    }
  }

  /**
   * The table cannot be read, so the health is unknown. Changes in the meantime are reported when it can be read again.
   */
  unknown(): void {
    this.#watched.health.fill('unknown')
  }

  /** Takes a reading; returns the servers that went down or came back on their own. */
  read(reading: HealthReading): readonly HealthChange[] {
    const { plan, figures } = reading
    if (this.#watched.version !== plan.version) this.#watched = new Watched(plan, this.#watched)
    const watched = this.#watched
    const changes: HealthChange[] = []
    const first = plan.frontends.length + plan.backends.length
    let place = -1
    for (const { id, members } of plan.backends) {
      const check = this.#checkOf(this.#running.get('l4Backends', id)?.healthCheck)
      for (const member of members) {
        place++
        const at = (first + place) * COLUMNS
        if (check === undefined || !isWanted(member, figures, at)) {
          watched.health[place] = 'unknown'
          watched.verdicts[place] = undefined
          watched.since_ms[place] = Number.NaN
          continue
        }
        const before = watched.verdicts[place]
        watched.health[place] = judge(watched, place, isThere(member, figures, at), check, reading)
        const verdict = watched.verdicts[place]
        if (before === undefined || before === verdict) continue
        const reason = `its ${check.name} check ${verdict === 'up' ? 'passes' : 'fails'}`
        changes.push({ backend: id, server: member.ripId, up: verdict === 'up', reason })
      }
    }
    return changes
  }

  #checkOf(setting: HealthCheckSetting | undefined): Check | undefined {
    if (setting === undefined || setting.type === 'none') return undefined
    const { type, id = '' } = setting
    const { interval, rise, fall } = { ...CHECK_DEFAULTS, ...setting }
    const script = isBuiltIn(id) ? id : (this.#running.get('healthChecks', id)?.name ?? id)
    return { name: type === 'script' ? script : type, patience_ms: interval * (rise + fall) * 1_000 + PATIENCE_MS }
  }
}

/**
 * Whether a member should be in the table. A halted real server is out on purpose; if its services are missing,
 * keepalived does not run.
 */
function isWanted({ share }: PlannedMember, figures: Float64Array, at: number): boolean {
  return share !== 'halted' && (figures[at + COLUMN.services] ?? 0) > 0
}

/** Whether a member is in each of its services, and with a weight unless its share is none. */
function isThere({ share }: PlannedMember, figures: Float64Array, at: number): boolean {
  const [services = 0, dests = 0] = [figures[at + COLUMN.services], figures[at + COLUMN.dests]]
  return dests >= services && (share === 'none' || figures[at + COLUMN.weight] !== 0)
}

function judge(
  { verdicts, since_ms }: Watched,
  place: number,
  isIn: boolean,
  check: Check,
  { now_ms, isChanging }: HealthReading,
): Health {
  const since = since_ms[place] ?? Number.NaN
  if (since !== since) since_ms[place] = now_ms
  if (isIn) verdicts[place] = 'up'
  else if (verdicts[place] === 'up') {
    // An apply may be about to take it out; the next readings decide.
    if (!isChanging) verdicts[place] = 'down'
  } else if (verdicts[place] === undefined) {
    if (!(now_ms - since >= check.patience_ms)) return 'checking'
    verdicts[place] = 'down'
  }
  return verdicts[place] ?? 'checking'
}
