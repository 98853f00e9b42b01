import { pace } from '../base/turns.ts'
import { fieldText } from '../drivers/haproxy/stats-csv.ts'
import type { Health } from '../model/real-server.ts'
import type { LayerOverview } from '../model/overview.ts'
import { healthOf } from './health.ts'
import type { Layer4Live } from './layer4-live.ts'
import { rowKey } from './live-plan.ts'
import { skipFields } from './live-rows.ts'
import { numberAt } from './live-scan.ts'
import type { LiveAnswers } from './live.ts'
import type { NamedBackend, NamedReal, ObjectNames } from './names.ts'
import type { PlacedObjects, Places } from './placed-objects.ts'

/** A backend without service, or a real server that is down. */
export interface DownObject {
  readonly kind: 'backend' | 'server'
  readonly id: string
  readonly name: string
  /** Present for a real server. */
  readonly backendName?: string
}

export interface Summary {
  readonly layer: LayerOverview
  readonly down: readonly DownObject[]
}

type Layer7 = Pick<LiveAnswers, 'bytes' | 'hold' | 'problem'>
type Layer4 = Pick<Layer4Live, 'layout' | 'row' | 'valueAt' | 'healthIn' | 'realsUp' | 'problem'>

const NO_LAYOUT = -1
const COMMA = 0x2c
/** This many objects take some ten microseconds. */
const AT_ONCE = 64
const UNSAID: Status = { text: '', health: 'unknown' }

/** The counts over all objects. */
class Counts {
  readonly frontends = { total: 0, up: 0, down: 0 }
  readonly backends = { total: 0, up: 0, down: 0 }
  readonly reals = { total: 0, up: 0, down: 0, checking: 0, drained: 0, halted: 0, unknown: 0 }
  readonly down: DownObject[] = []
  readonly #sums = new Map<string, number>()

  of(kind: 'frontends' | 'backends', isUp: boolean | undefined): void {
    this[kind].total++
    if (isUp !== undefined) this[kind][isUp ? 'up' : 'down']++
  }

  real(state: 'online' | 'drained' | 'halted' | undefined, health: Health): void {
    this.reals.total++
    this.reals[state === 'drained' || state === 'halted' ? state : health]++
  }

  add(name: string, value: number | undefined): void {
    if (value !== undefined) this.#sums.set(name, (this.#sums.get(name) ?? 0) + value)
  }

  /** null where nothing was added. */
  backend({ id, name }: NamedBackend, isUp: boolean | undefined): void {
    this.of('backends', isUp)
    if (isUp === false) this.down.push({ kind: 'backend', id, name })
  }

  sum(name: string): number | null {
    return this.#sums.get(name) ?? null
  }

  summary(problem: string | undefined): Summary {
    const { frontends, backends, reals, down } = this
    const names = ['sessions', 'newPerSecond', 'requestsPerSecond', 'bytesInPerSecond', 'bytesOutPerSecond'] as const
    // Sound: every name has a value.
    const traffic = Object.fromEntries(
      names.map((name) => [name, this.sum(name)]),
    ) as unknown as LayerOverview['traffic']
    return { layer: { problem: problem ?? null, frontends, backends, reals, traffic }, down }
  }
}

/** Returns the summary of Layer 7 from HAProxy's last answer, with turns in between. */
export async function summarizeLayer7(live: Layer7, placed: PlacedObjects): Promise<Summary> {
  const layout = () => live.bytes?.layout ?? NO_LAYOUT
  const places = await placed.at({ layout, row: (key) => live.bytes?.index.get(key) })
  const letGo = live.hold()
  try {
    const counts = await countLayer7(new LastAnswer(live.bytes), placed.names, places)
    return counts.summary(live.problem)
  } finally {
    letGo()
  }
}

async function countLayer7(
  said: LastAnswer,
  names: ObjectNames,
  { frontends, members, rows }: Places,
): Promise<Counts> {
  const counts = new Counts()
  await each(frontends.length, (at) => {
    const row = frontends[at] ?? -1
    const { text } = said.status(row)
    counts.of('frontends', text === '' ? undefined : text === 'OPEN')
    counts.add('sessions', said.number(row, 'scur'))
    counts.add('newPerSecond', said.number(row, 'rate'))
    counts.add('requestsPerSecond', said.number(row, 'req_rate'))
  })
  await each(members.length, (at) => {
    const member = members[at]
    if (member === undefined) return
    const { backend, real } = member
    const row = rows[at] ?? -1
    const { text, health } = said.status(row)
    if (real !== undefined) return judge(counts, backend, real, names.state?.(real.ripId) ?? stateIn(text), health)
    // HAProxy reports UP for a backend without any server, and answers 503.
    const takes = (said.number(row, 'act') ?? 1) + (said.number(row, 'bck') ?? 0) > 0
    const isUp = text === '' ? undefined : text.startsWith('UP')
    return counts.backend(backend, isUp === true && !takes ? undefined : isUp)
  })
  return counts
}

/** Returns the state of a real server that others configure, if HAProxy says that it gets no new clients. */
function stateIn(status: string): 'halted' | 'drained' | undefined {
  if (status.startsWith('MAINT')) return 'halted'
  return status.startsWith('DRAIN') ? 'drained' : undefined
}

/** Returns the summary of Layer 4 from the last reading of the kernel's table. */
export async function summarizeLayer4(live: Layer4, placed: PlacedObjects): Promise<Summary> {
  const { names } = placed
  const { frontends, members, rows } = await placed.at({ layout: () => live.layout, row: (key) => live.row(key) })
  const counts = new Counts()
  await each(frontends.length, (at) => {
    const row = frontends[at] ?? -1
    const services = live.valueAt(row, 'services')
    counts.of('frontends', services === undefined ? undefined : services !== 0)
    counts.add('newPerSecond', live.valueAt(row, 'connectionsPerSecond'))
    counts.add('bytesInPerSecond', live.valueAt(row, 'bytesInPerSecond'))
    counts.add('bytesOutPerSecond', live.valueAt(row, 'bytesOutPerSecond'))
  })
  await each(members.length, (at) => {
    const member = members[at]
    if (member === undefined) return
    const { backend, real } = member
    if (real !== undefined) {
      counts.add('sessions', live.valueAt(rows[at] ?? -1, 'activeConnections'))
      return judge(counts, backend, real, names.state?.(real.ripId), live.healthIn(backend.id, real.ripId))
    }
    const up = live.realsUp(rowKey('backend', backend.id, ''))
    return counts.backend(backend, up === undefined ? undefined : up > 0)
  })
  return counts.summary(live.problem)
}

/** Calls `use` for each index; the clock is not read for each of them. */
async function each(count: number, use: (at: number) => void): Promise<void> {
  const pause = pace()
  for (let at = 0; at < count; at++) {
    use(at)
    const due = at % AT_ONCE === 0 ? pause() : undefined
    if (due !== undefined) await due
  }
}

interface Status {
  /** Empty where HAProxy reports none. */
  readonly text: string
  readonly health: Health
}

/** HAProxy's last answer. Most rows have the same status as the row before, so its text is not decoded again. */
class LastAnswer {
  readonly #bytes: Layer7['bytes']
  #status: Status = UNSAID
  #at = -1

  constructor(bytes: Layer7['bytes']) {
    this.#bytes = bytes
  }

  status(row: number): Status {
    const at = this.#bytes?.statuses[row - 1] ?? 0
    if (this.#bytes === undefined || at === 0) return UNSAID
    const { csv } = this.#bytes
    if (this.#at < 0 || !isSameField(csv, at, this.#at)) {
      const text = fieldText(csv, at)
      this.#status = { text, health: healthOf([text]) }
      this.#at = at
    }
    return this.#status
  }

  number(row: number, name: string): number | undefined {
    const [start, column] = [this.#bytes?.rows[row], this.#bytes?.index.columns.get(name)]
    if (this.#bytes === undefined || start === undefined || column === undefined) return undefined
    const value = numberAt(this.#bytes.csv, skipFields(this.#bytes.csv, start, column))
    return Number.isNaN(value) ? undefined : value
  }
}

function isSameField(csv: Uint8Array, a: number, b: number): boolean {
  let i = 0
  for (; csv[a + i] !== COMMA && a + i < csv.length; i++) if (csv[a + i] !== csv[b + i]) return false
  return csv[b + i] === COMMA
}

function judge(
  counts: Counts,
  { name: backendName }: NamedBackend,
  { ripId: id, name }: NamedReal,
  state: Parameters<Counts['real']>[0],
  health: Health,
): void {
  counts.real(state, health)
  const isMeant = state !== 'drained' && state !== 'halted'
  if (isMeant && health === 'down') counts.down.push({ kind: 'server', id, name, backendName })
}
