import { COLUMN, COLUMNS, type IpvsPlan, type PlannedMember } from '../ipvs/names.ts'
import { CHECK_DEFAULTS, type HealthCheckSetting, isBuiltIn } from '../model/health-check.ts'
import type { Health } from '../model/real-server.ts'
import type { ConfigView } from '../model/sections.ts'
import type { HealthChange } from '../../workers/archive/messages.ts'

/** A real server that was just put in is given the time of its first checks, and some more. */
const PATIENCE_MS = 10_000

interface Watched {
  /** Since when it should be in the table. */
  readonly since_ms: number
  verdict: 'up' | 'down' | undefined
}

/** A check in words, and how long its first verdict may take. */
interface Check {
  readonly name: string
  readonly patience_ms: number
}

export interface HealthReading {
  readonly plan: IpvsPlan
  readonly figures: Float64Array
  readonly now_ms: number
  /** Whether what is missing may be missing because somebody is changing the configuration. */
  readonly isChanging: boolean
}

const keyOf = (backendId: string, ripId: string): string => `${backendId}/${ripId}`

/**
 * What the kernel's table says of health: a check that fails takes its real server out of the table, so one that should be
 * there and is not is down.
 */
export class Layer4Health {
  readonly #running: ConfigView
  #watched = new Map<string, Watched>()
  #health = new Map<string, Health>()

  constructor(running: ConfigView) {
    this.#running = running
  }

  of(backendId: string, ripId: string): Health {
    return this.#health.get(keyOf(backendId, ripId)) ?? 'unknown'
  }

  /** The table cannot be read: nobody knows. What went down or came back meanwhile is told when it can be read again. */
  unknown(): void {
    this.#health.clear()
  }

  /** Takes a reading; answers who went down or came back by itself. */
  read({ plan, figures, now_ms, isChanging }: HealthReading): readonly HealthChange[] {
    const [watched, health, changes] = [new Map<string, Watched>(), new Map<string, Health>(), [] as HealthChange[]]
    let row = plan.frontends.length + plan.backends.length
    for (const { id, members } of plan.backends) {
      const check = this.#checkOf(this.#running.get('l4Backends', id)?.healthCheck)
      for (const member of members) {
        const at = row++ * COLUMNS
        if (check === undefined || !isWanted(member, figures, at)) continue
        const key = keyOf(id, member.ripId)
        const state = this.#watched.get(key) ?? { since_ms: now_ms, verdict: undefined }
        watched.set(key, state)
        const before = state.verdict
        health.set(key, judge(state, isThere(member, figures, at), check, now_ms, isChanging))
        if (before === undefined || before === state.verdict) continue
        const reason = `its ${check.name} check ${state.verdict === 'up' ? 'passes' : 'fails'}`
        changes.push({ backend: id, server: member.ripId, up: state.verdict === 'up', reason })
      }
    }
    this.#watched = watched
    this.#health = health
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

/** A halted real server is out on purpose; without its services in the table, keepalived does not run. */
function isWanted({ share }: PlannedMember, figures: Float64Array, at: number): boolean {
  return share !== 'halted' && (figures[at + COLUMN.services] ?? 0) > 0
}

/** In each of its services, and with a weight unless it has none. */
function isThere({ share }: PlannedMember, figures: Float64Array, at: number): boolean {
  const [services = 0, dests = 0] = [figures[at + COLUMN.services], figures[at + COLUMN.dests]]
  return dests >= services && (share === 'none' || figures[at + COLUMN.weight] !== 0)
}

function judge(state: Watched, isIn: boolean, check: Check, now_ms: number, isChanging: boolean): Health {
  if (isIn) state.verdict = 'up'
  else if (state.verdict === 'up') {
    // An apply may be about to take it out; the next readings tell.
    if (!isChanging) state.verdict = 'down'
  } else if (state.verdict === undefined) {
    if (now_ms - state.since_ms < check.patience_ms) return 'checking'
    state.verdict = 'down'
  }
  return state.verdict ?? 'checking'
}
