import { inTurns } from '../base/turns.ts'
import type { Health } from '../model/real-server.ts'
import type { LayerOverview } from '../model/overview.ts'
import { healthOf } from './health.ts'
import type { Layer4Live } from './layer4-live.ts'
import { rowKey } from './live-plan.ts'
import type { LiveAnswers } from './live.ts'
import type { NamedBackend, NamedReal, ObjectNames } from './names.ts'

/** A backend that serves nobody, or a real server of one that is down. */
export interface DownObject {
  readonly kind: 'backend' | 'server'
  readonly id: string
  readonly name: string
  /** Of a real server. */
  readonly backendName?: string
}

export interface Summary {
  readonly layer: LayerOverview
  readonly down: readonly DownObject[]
}

type Layer7 = Pick<LiveAnswers, 'figure' | 'problem'>
type Layer4 = Pick<Layer4Live, 'figure' | 'healthIn' | 'realsUp' | 'problem'>

/** What is counted while all objects are gone through. */
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

/** Layer 7 at a glance, from HAProxy's last answer. Others have turns in between. */
export async function summarizeLayer7(live: Layer7, names: ObjectNames): Promise<Summary> {
  const counts = new Counts()
  const number = (key: string, column: string) => {
    const said = live.figure(key, column)
    return said === undefined ? undefined : Number(said)
  }
  await inTurns(names.frontends(), ({ id, called = id }) => {
    const key = rowKey('frontend', called, '')
    const status = live.figure(key, 'status')
    counts.of('frontends', status === undefined ? undefined : status === 'OPEN')
    counts.add('sessions', number(key, 'scur'))
    counts.add('newPerSecond', number(key, 'rate'))
    counts.add('requestsPerSecond', number(key, 'req_rate'))
  })
  await inTurns(membersOf(names), ({ backend, real }) => {
    const proxy = backend.called ?? backend.id
    if (real === undefined) {
      const status = live.figure(rowKey('backend', proxy, ''), 'status')
      const isUp = status === undefined ? undefined : status.startsWith('UP')
      counts.of('backends', isUp)
      if (isUp === false) counts.down.push({ kind: 'backend', id: backend.id, name: backend.name })
      return
    }
    const status = live.figure(rowKey('server', proxy, real.called ?? real.ripId), 'status') ?? ''
    const state = names.state?.(real.ripId) ?? (status.startsWith('MAINT') ? 'halted' : undefined)
    judge(counts, backend, real, state, healthOf([status]))
  })
  return counts.summary(live.problem)
}

/** Layer 4 at a glance, from the last reading of the kernel's table. */
export async function summarizeLayer4(live: Layer4, names: ObjectNames): Promise<Summary> {
  const counts = new Counts()
  await inTurns(names.frontends(), ({ id }) => {
    const key = rowKey('frontend', id, '')
    counts.of('frontends', live.figure(key, 'services') === undefined ? undefined : live.figure(key, 'services') !== 0)
    counts.add('newPerSecond', live.figure(key, 'connectionsPerSecond'))
    counts.add('bytesInPerSecond', live.figure(key, 'bytesInPerSecond'))
    counts.add('bytesOutPerSecond', live.figure(key, 'bytesOutPerSecond'))
  })
  await inTurns(membersOf(names), ({ backend, real }) => {
    if (real === undefined) {
      const up = live.realsUp(rowKey('backend', backend.id, ''))
      counts.of('backends', up === undefined ? undefined : up > 0)
      if (up === 0) counts.down.push({ kind: 'backend', id: backend.id, name: backend.name })
      return
    }
    counts.add('sessions', live.figure(rowKey('server', backend.id, real.ripId), 'activeConnections'))
    judge(counts, backend, real, names.state?.(real.ripId), live.healthIn(backend.id, real.ripId))
  })
  return counts.summary(live.problem)
}

/** Each backend, then its real servers. */
function* membersOf(names: ObjectNames): Generator<{ readonly backend: NamedBackend; readonly real?: NamedReal }> {
  for (const backend of names.backends()) {
    yield { backend }
    for (const real of backend.reals) yield { backend, real }
  }
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
