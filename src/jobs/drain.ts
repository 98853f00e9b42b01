import { setTimeout as sleep } from 'node:timers/promises'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Actor } from '../context/actor.ts'
import type { Drains } from '../context/jobs.ts'
import type { Clock } from '../base/clock.ts'
import type { ApplyEngine } from '../config/apply.ts'
import { patchOf } from '../config/views.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { GivenUp, type JobHandle, type JobKind, type Jobs, type WithKinds } from './jobs.ts'
import type { ConfigView, Touched } from '../model/sections.ts'

/** How long a drain may wait for the apply that begins it. */
const APPLY_WITHIN_MS = 15 * 60_000
const LOOK_EVERY_MS = 500
/** Consecutive looks without a connection that are needed: the kernel's figures change every two seconds. */
const QUIET_LOOKS = 6
/** How often to wait for another user's apply. */
const TRIES_MAX = 60
const TRY_EVERY_MS = 1_000

/** A requested drain. */
export interface Drain {
  readonly ripId: string
  /** Seconds that connections may take to end after the apply. */
  readonly wait_s: number
  /** Whether to halt the server then, whether or not its connections have ended. */
  readonly halt: boolean
  readonly by: string
  /** Absent in jobs of earlier versions. */
  readonly author?: Actor
  /** Milliseconds since 1970; absent until it is applied. */
  readonly until_ms?: number
}

export interface DrainParts {
  readonly store: Pick<ConfigStore, 'agreed' | 'revisionHeaders' | 'oldestRevision' | 'revision' | 'unconfirmed'>
  readonly running: ConfigView
  readonly candidate: ConfigView
  readonly engine: Pick<ApplyEngine, 'applyUnstaged'>
  /** Open connections of both layers through all nodes; undefined while a node does not answer. */
  readonly connections: (ripId: string) => Promise<number | undefined>
  readonly clock: Clock
  /** Refuses a caller that may no longer use these endpoints. */
  readonly access: { assertStill(author: Actor, endpoints: readonly string[], touched?: Touched): void }
}

type DrainJob = JobHandle & {
  /** Aborted if the job is cancelled, or the daemon ends. */
  readonly stopped: AbortSignal
}

/** The outcome. */
interface Drained {
  readonly ripId: string
  /** Connections left at the end; null if unknown. */
  readonly connections: number | null
  readonly halted: boolean
}

/** Returns the name of the real server, with its id. A server that is gone has only the id. */
export function nameServer(view: ConfigView, ripId: string): string {
  const name = view.get('realServers', ripId)?.name
  return name === undefined ? `real server ${ripId}` : `real server ${name} (${ripId})`
}

/** Creates the capability that begins drains, and the kind of its jobs, which a restart of the daemon resumes. */
export function createDrains(parts: DrainParts & { readonly jobs: Jobs }): Drains & WithKinds {
  const kind = drainKind(parts)
  return {
    kinds: [kind],
    prepare(drain, author) {
      const { email: by } = author
      const { ripId } = drain
      const id = newId()
      const title = `Drain of ${nameServer(parts.candidate, ripId)}`
      const about = { id, group: `drain ${ripId}`, title, resourceId: ripId }
      parts.jobs.refuseBeside(about.group)
      return { job: id, start: async () => void (await parts.jobs.start(kind, { ...drain, by, author }, by, about)) }
    },
  }
}

/** Waits until the connections of a drained real server have ended, and then halts it if requested. */
export function drainKind(parts: DrainParts): JobKind<Drain> {
  const work = async (handle: JobHandle, drain: Drain): Promise<Drained> => {
    const job: DrainJob = { ...handle, stopped: AbortSignal.any([handle.signal, handle.ending]) }
    job.report({ canCancel: true, step: 'waiting for the apply of the drain' })
    await applied(parts, job, drain)
    const connections = await emptied(parts, job, drain)
    if (!drain.halt && connections !== 0) {
      const left = connections === null ? 'an unknown number of connections is' : connectionsText(connections)
      const server = nameServer(parts.candidate, drain.ripId)
      throw new ApiError('IN_USE', `After ${drain.wait_s} s ${left} left; ${server} stays drained`)
    }
    if (drain.halt) await halted(parts, job, drain)
    return { ripId: drain.ripId, connections, halted: drain.halt }
  }
  const resume = async (job: JobHandle, drain: Drain): Promise<Drained> =>
    isHaltedBy(parts.store, job.id) ? { ripId: drain.ripId, connections: null, halted: true } : work(job, drain)
  return { kind: 'realServer.drain', title: 'Drain of a real server', group: 'drain', work, resume }
}

/** Returns whether the job has halted the server, and the daemon ended before the job did. */
function isHaltedBy(store: DrainParts['store'], jobId: string): boolean {
  return store.revisionHeaders(store.revision - store.oldestRevision + 1).some(({ applyId }) => applyId === jobId)
}

const connectionsText = (count: number): string => (count === 1 ? '1 connection is' : `${count} connections are`)

/** Resolves when the drain is running. */
async function applied(
  { running, candidate, clock }: DrainParts,
  { stopped }: DrainJob,
  { ripId }: Drain,
): Promise<void> {
  const end_ms = clock.monotonic_ms() + APPLY_WITHIN_MS
  const server = nameServer(candidate, ripId)
  for (;;) {
    if (running.get('realServers', ripId)?.state === 'drained') return
    if (candidate.get('realServers', ripId)?.state !== 'drained') {
      throw new GivenUp('NOT_FOUND', `The drain of ${server} was discarded before it was applied`)
    }
    if (clock.monotonic_ms() > end_ms) {
      throw new ApiError('IN_USE', `The drain of ${server} was not applied within 15 minutes; it is still pending`)
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: stopped })
  }
}

/**
 * Resolves with the remaining connections once there are none, or the time is over; null if their number is unknown.
 */
async function emptied(
  { running, candidate, connections, clock }: DrainParts,
  job: DrainJob,
  drain: Drain,
): Promise<number | null> {
  const end_ms = clock.monotonic_ms() + leftOf_ms(job, drain, clock)
  let most = 0
  let quiet = 0
  for (;;) {
    if (running.get('realServers', drain.ripId)?.state !== 'drained') {
      const server = nameServer(candidate, drain.ripId)
      throw new GivenUp('NOT_FOUND', `The state of ${server} was changed: it is no longer drained`)
    }
    const count = await connections(drain.ripId)
    quiet = count === 0 ? quiet + 1 : 0
    if (quiet >= QUIET_LOOKS) return 0
    if (clock.monotonic_ms() >= end_ms) return count ?? null
    most = Math.max(most, count ?? 0)
    const step =
      count === undefined ? 'the number of remaining connections is unknown' : `${connectionsText(count)} left`
    job.report({ step, progress: count === undefined || most === 0 ? null : Math.floor((100 * (most - count)) / most) })
    await sleep(LOOK_EVERY_MS, undefined, { signal: job.stopped })
  }
}

/**
 * Returns the remaining time of the wait: a restart of the daemon does not begin it anew, and setting the clock does
 * not prolong it.
 */
function leftOf_ms(job: JobHandle, drain: Drain, clock: Clock): number {
  const wait_ms = drain.wait_s * 1_000
  const { until_ms = clock.now_ms() + wait_ms } = drain
  if (drain.until_ms === undefined) job.report({ memory: { ...drain, until_ms } })
  return Math.min(wait_ms, until_ms - clock.now_ms())
}

/** Applies only this change; pending changes, including those of the same real server, stay pending. */
async function halted({ store, engine, access, running }: DrainParts, job: DrainJob, drain: Drain): Promise<void> {
  job.report({ step: 'halting the real server', canCancel: false })
  const { ripId, by, author = { userId: '', email: by, sessionId: '' } } = drain
  const options = { force: undefined, comment: `drained, job ${job.id}`, applyId: job.id }
  const caller = { by, address: undefined }
  const isAwaited = () => store.unconfirmed() !== undefined
  const halt = () => {
    // Checked at each try: what it waits for may take a day.
    const real = running.get('realServers', ripId)
    const touched = { section: 'realServers', before: real, after: real }
    access.assertStill(author, ['realServers.halt', 'services.apply'], touched)
    return engine.applyUnstaged(() => patchOf(store.agreed, 'realServers', ripId, { state: 'halted' }), options, caller)
  }
  await retried(halt, isAwaited, job)
}

/** An apply may wait a day for its confirmation; meanwhile the job can be cancelled. */
async function retried(apply: () => Promise<unknown>, isAwaited: () => boolean, job: DrainJob): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await apply()
      return
    } catch (error) {
      const isBusy = error instanceof ApiError && error.code === 'APPLY_IN_PROGRESS'
      if (!isBusy || (tries >= TRIES_MAX && !isAwaited())) throw error
      const canCancel = isAwaited()
      job.report({
        canCancel,
        step: canCancel ? 'waiting for the confirmation of an apply' : 'halting the real server',
      })
      await sleep(TRY_EVERY_MS, undefined, { signal: canCancel ? job.stopped : job.ending })
      job.report({ canCancel: false })
    }
  }
}
