import { setTimeout as sleep } from 'node:timers/promises'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Actor } from '../context/actor.ts'
import type { PowerActor } from '../context/machine-care.ts'
import type { MachineClock } from '../base/clock.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import type { SocketCommand, Step } from '../drivers/driver.ts'
import { acceptingNames } from '../drivers/haproxy/tls-alpn.ts'
import { ApiError } from '../base/errors.ts'
import type { Events } from '../events/events.ts'
import { excludedBy, type Jobs } from '../jobs/jobs.ts'
import type { Log } from '../base/log.ts'
import type { Machine } from './machine.ts'
import type { L7Frontend } from '../model/layer7.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { ConfigView } from '../model/sections.ts'
import { type ProcessMark, isAlive, machineMark } from '../base/process-mark.ts'
import { reasonOf } from '../base/reason.ts'

export type PowerChange = 'halt' | 'reboot'

const VERBS = { halt: 'poweroff', reboot: 'reboot' } as const
/** Time for the answer of the request to reach its client. */
const ANSWER_MS = 500
const LOOK_EVERY_MS = 250
const TIMEOUT_MS = 30_000
/** Key under which a shutdown in progress is stored. */
const BEGUN_KEY = 'power'
/** If the machine is not down after this time, the shutdown has failed. */
const GONE_MS = 120_000

/** A shutdown in progress, for a daemon that starts before the machine is down. */
interface Begun {
  readonly change: PowerChange
  readonly by: string
  readonly author?: Actor | undefined
  readonly machine: ProcessMark
  /** The deadline of open connections, in time since boot. */
  readonly deadline_ms: number
}

/** Hands over to the cluster first, so that the other nodes continue without a gap. */
export interface Departing {
  /** Refuses with IN_USE, unless forced. */
  refuse(isForced: boolean): Promise<void>
  /** Resolves when others have taken over; unless forced, fails with IN_USE if they do not. */
  begin(reason: string, isForced: boolean): Promise<void>
}

export interface PowerParts {
  readonly store: Pick<ConfigStore, 'getMeta' | 'putMeta'>
  readonly clock: Pick<MachineClock, 'uptime_ms'>
  readonly jobs: Pick<Jobs, 'running'>
  readonly machine: Pick<Machine, 'statsSocket' | 'touchesPackages'> & {
    readonly executor: Pick<PlanExecutor, 'execute'>
    readonly facts: Pick<MachineFacts, 'sessions'>
  }
  /** Connections of these frontends at the last poll, including those of draining HAProxy workers. */
  readonly layer7: {
    frontendSessions(frontends: readonly string[]): number | undefined
    waitTick(): Promise<void>
  }
  readonly running: ConfigView
  /** Refuses a caller that may no longer use these endpoints. */
  readonly access: { assertStill(author: Actor, endpoints: readonly string[]): void }
  readonly departure: Departing
  readonly events: Pick<Events, 'publish'>
  readonly log: Log
}

export interface PowerRequest {
  readonly drain_s: number
  readonly isForced: boolean
  readonly by: string
  /** Absent for work by the daemon. */
  readonly author?: Actor | undefined
}

/** Shuts the machine down: refuses new connections, gives open ones a bounded time, then lets systemd proceed. */
export class Power implements PowerActor {
  readonly #parts: PowerParts
  #underWay: PowerChange | undefined
  #isClosing = false

  constructor(parts: PowerParts) {
    this.#parts = parts
  }

  get isGoingDown(): boolean {
    return this.#underWay !== undefined
  }

  /** Refuses to begin long work while the machine is shutting down. */
  refuseGoingDown(): void {
    if (this.#underWay === undefined) return
    const message = `The machine is already going down (${this.#underWay})`
    throw new ApiError('JOB_IN_PROGRESS', message, { headers: { 'Retry-After': '60' } })
  }

  /** Resumes what an earlier run of the daemon began. */
  start(): void {
    this.resume().catch((error: unknown) =>
      this.#parts.log.error('the shutdown was not resumed', { reason: String(error) }),
    )
  }

  /**
   * Resumes a shutdown after the daemon ended in the middle of it, with its frontends disabled. In time, it continues;
   * if the daemon was stopped for long, nobody expects the shutdown any more, and connections are accepted again.
   */
  async resume(): Promise<void> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by #remember only
    const begun = (this.#parts.store.getMeta(BEGUN_KEY) ?? undefined) as Begun | undefined
    if (begun === undefined || !this.#parts.machine.touchesPackages) return
    const { change, by, author, machine, deadline_ms } = begun
    const left_ms = deadline_ms - this.#parts.clock.uptime_ms()
    if (!isAlive(machine)) return this.#remember(undefined)
    if (left_ms > -GONE_MS) this.#begin(change, { drain_s: Math.max(0, left_ms / 1000), isForced: true, by, author })
    else await this.#failed(change, 'the daemon was stopped in the meantime')
  }

  async request(change: PowerChange, request: PowerRequest): Promise<{ readonly isDryRun: boolean }> {
    const { machine, jobs, departure } = this.#parts
    this.refuseGoingDown()
    if (machine.touchesPackages) await departure.refuse(request.isForced)
    this.refuseGoingDown()
    const job = jobs.running('packages')
    if (job !== undefined && !request.isForced) throw excludedBy(job, 30, 'wait until it ends, or send force=true')
    this.#begin(change, request)
    return { isDryRun: !machine.touchesPackages }
  }

  /** Begins a restart that ends work of the daemon itself. */
  begin(change: PowerChange, request: PowerRequest): void {
    if (this.#underWay === undefined) this.#begin(change, request)
  }

  /** The daemon ends, most likely because the machine does: nothing is undone. */
  close(): void {
    this.#isClosing = true
  }

  #begin(change: PowerChange, request: PowerRequest): void {
    this.#underWay = change
    this.#parts.log.info('power', { change, by: request.by })
    this.#parts.events.publish('node', { state: `${change} begins`, by: request.by })
    // It is stored, so the daemon's next start continues it.
    const failed = (error: unknown) => (this.#isClosing ? undefined : this.#failed(change, reasonOf(error)))
    void this.#go(change, request).catch(failed)
  }

  async #go(change: PowerChange, { drain_s, isForced, by, author }: PowerRequest): Promise<void> {
    const { clock, access, departure } = this.#parts
    const { touchesPackages: touchesMachine, executor } = this.#parts.machine
    if (touchesMachine) {
      const deadline_ms = clock.uptime_ms() + drain_s * 1000
      await this.#remember({ change, by, author, machine: machineMark(), deadline_ms })
      await sleep(ANSWER_MS, undefined, { ref: false })
      // New connections go to another node, if there is one.
      await departure.begin(change, isForced)
      await this.#drain(deadline_ms)
      if (this.#isClosing) return
    }
    if (author !== undefined) access.assertStill(author, [`power.${change}`])
    const argv = ['systemctl', '--no-wall', '--no-block', VERBS[change]]
    const step = { kind: 'run', argv, undo: 'irreversible', timeout_ms: TIMEOUT_MS, why: change } as const
    const result = await executor.execute([step])
    if (!touchesMachine) this.#underWay = undefined
    else if (result.ok) await sleep(GONE_MS, undefined, { ref: false })
    if (!this.#isClosing && touchesMachine) {
      await this.#failed(change, result.ok ? `it is still up after ${GONE_MS / 1000} s` : result.output)
    }
  }

  #remember(begun: Begun | undefined): Promise<void> {
    return this.#parts.store.putMeta(BEGUN_KEY, begun ?? null)
  }

  async #drain(deadline_ms: number): Promise<void> {
    const { facts, statsSocket } = this.#parts.machine
    const names = this.#frontends.map(({ id }) => id)
    if (statsSocket === undefined || names.length === 0 || this.#isClosing) return
    await this.#command('disable', 'accept no new connections')
    // A worker that a reload has just replaced is not among those of the last poll.
    if (this.#parts.clock.uptime_ms() < deadline_ms) await this.#parts.layer7.waitTick()
    while (!this.#isClosing) {
      const current = await facts.sessions(statsSocket, names)
      const all = this.#parts.layer7.frontendSessions(names)
      if (current === 'not running') return
      const left = current === undefined || all === undefined ? 'unknown' : Math.max(current, all)
      if (left === 0) return
      if (this.#parts.clock.uptime_ms() >= deadline_ms)
        return this.#parts.log.warn('open connections are cut off', { connections: left })
      await sleep(LOOK_EVERY_MS, undefined, { ref: false })
    }
  }

  get #frontends(): readonly L7Frontend[] {
    return [...this.#parts.running.list('l7Frontends')].filter(({ enabled }) => enabled)
  }

  /** Changes the frontends. One that HAProxy does not have, or that is already in that state, is skipped. */
  async #command(verb: 'disable' | 'enable', why: string): Promise<void> {
    const { statsSocket, executor } = this.#parts.machine
    if (statsSocket === undefined) return
    const expect = ['', 'No such*', 'Frontend is already*', 'Frontend was*', 'Frontend is not*']
    const names = this.#frontends.flatMap((frontend) => acceptingNames(frontend, this.#parts.running))
    const commands = names.map((name): SocketCommand => ({ request: `${verb} frontend ${name}`, expect }))
    const step: Step = {
      kind: 'socket',
      path: statsSocket,
      commands,
      readBack: [],
      undo: [],
      timeout_ms: TIMEOUT_MS,
      why,
    }
    const result = await executor.execute([step])
    if (!result.ok) this.#parts.log.warn(why, { reason: result.output })
  }

  async #failed(change: PowerChange, reason: string): Promise<void> {
    this.#parts.log.error('the machine did not go down', { change, reason })
    this.#parts.events.publish('node', { state: `${change} failed`, reason })
    try {
      await this.#command('enable', 'accept connections again')
      await this.#remember(undefined)
    } catch (error) {
      // Nothing awaits this, so an error, as on a full disk, would end the daemon.
      this.#parts.log.error('a shutdown or restart could not be undone', { change, reason: reasonOf(error) })
    } finally {
      this.#underWay = undefined
    }
  }
}
