import { setTimeout as sleep } from 'node:timers/promises'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Actor } from '../api/context.ts'
import type { PowerActor } from '../api/machine-lifecycle.ts'
import type { MachineClock } from '../clock.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import type { SocketCommand, Step } from '../drivers/driver.ts'
import { ApiError } from '../errors.ts'
import type { Events } from '../events.ts'
import type { Jobs } from '../jobs.ts'
import type { Log } from '../log.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { ProcessMark } from '../../workers/detached/plan.ts'
import { isAlive, machineMark } from '../updates/process-mark.ts'

export type PowerChange = 'halt' | 'reboot'

const VERBS = { halt: 'poweroff', reboot: 'reboot' } as const
/** Until the answer of the request that asked for it has reached its client. */
const ANSWER_MS = 500
const LOOK_EVERY_MS = 250
const TIMEOUT_MS = 30_000
/** Where it is kept that the machine is going down. */
const BEGUN_KEY = 'power'
/** The machine goes down within this time, or it does not. */
const GONE_MS = 120_000

/** What was begun, for a daemon that is started before the machine went down. */
interface Begun {
  readonly change: PowerChange
  readonly by: string
  readonly author?: Actor | undefined
  readonly machine: ProcessMark
  /** In the time since the machine was started: connections have until then. */
  readonly deadline_ms: number
}

export interface PowerParts {
  readonly store: Pick<ConfigStore, 'getMeta' | 'putMeta'>
  readonly clock: Pick<MachineClock, 'uptime_ms'>
  readonly jobs: Pick<Jobs, 'running'>
  readonly executor: Pick<PlanExecutor, 'execute'>
  readonly facts: Pick<MachineFacts, 'sessions'>
  /** Of the managed HAProxy; undefined when nothing of it is to be touched. */
  readonly statsSocket: string | undefined
  /** Names of the frontends that serve. */
  readonly frontends: () => readonly string[]
  readonly touchesMachine: boolean
  /** Refuses who may not use these endpoints any more. */
  readonly assertStill: (author: Actor, endpoints: readonly string[]) => void
  readonly refuseObserver: () => void
  readonly events: Pick<Events, 'publish'>
  readonly log: Log
}

export interface PowerRequest {
  readonly drain_s: number
  readonly isForced: boolean
  readonly by: string
  /** Absent for the daemon's own work. */
  readonly author?: Actor | undefined
}

/** Takes the machine down: no new connections, a bounded time for those that are there, then systemd's way. */
export class Power implements PowerActor {
  readonly #parts: PowerParts
  #underWay: PowerChange | undefined
  #isClosing = false

  constructor(parts: PowerParts) {
    this.#parts = parts
  }

  /** Nothing long is begun on a machine that goes down. */
  refuseGoingDown(): void {
    if (this.#underWay === undefined) return
    const message = `The machine is going down already (${this.#underWay})`
    throw new ApiError('APPLY_IN_PROGRESS', message, { headers: { 'Retry-After': '60' } })
  }

  /**
   * An earlier run of the daemon ended while the machine was going down, which it would forget with its frontends disabled. In time
   * it goes on; when somebody had stopped the daemon for long, nobody expects it any more, and connections are taken again.
   */
  async resume(): Promise<void> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by #remember only
    const begun = (this.#parts.store.getMeta(BEGUN_KEY) ?? undefined) as Begun | undefined
    if (begun === undefined || !this.#parts.touchesMachine) return
    const { change, by, author, machine, deadline_ms } = begun
    const left_ms = deadline_ms - this.#parts.clock.uptime_ms()
    if (!isAlive(machine)) return this.#remember(undefined)
    if (left_ms > -GONE_MS) this.#begin(change, { drain_s: Math.max(0, left_ms / 1000), isForced: true, by, author })
    else await this.#failed(change, 'the daemon was stopped meanwhile')
  }

  request(change: PowerChange, request: PowerRequest): { readonly isDryRun: boolean } {
    const { refuseObserver, touchesMachine, jobs } = this.#parts
    refuseObserver()
    this.refuseGoingDown()
    const job = jobs.running('packages')
    if (job !== undefined && !request.isForced) {
      const message = `The job ${job.id} (${job.title}) is still running; wait for its end, or send force=true`
      throw new ApiError('APPLY_IN_PROGRESS', message, { data: { job: job.id }, headers: { 'Retry-After': '30' } })
    }
    this.#begin(change, request)
    return { isDryRun: !touchesMachine }
  }

  /** For work of the daemon itself that ends with a restart of the machine. */
  begin(change: PowerChange, request: PowerRequest): void {
    if (this.#underWay === undefined) this.#begin(change, request)
  }

  /** The daemon ends, most likely because the machine does: nothing is taken back. */
  close(): void {
    this.#isClosing = true
  }

  #begin(change: PowerChange, request: PowerRequest): void {
    this.#underWay = change
    this.#parts.log.info('power', { change, by: request.by })
    this.#parts.events.publish('node', { state: `${change} begins`, by: request.by })
    void this.#go(change, request).catch((error: unknown) => this.#failed(change, reasonOf(error)))
  }

  async #go(change: PowerChange, { drain_s, by, author }: PowerRequest): Promise<void> {
    const { touchesMachine, executor, clock, assertStill } = this.#parts
    if (touchesMachine) {
      const deadline_ms = clock.uptime_ms() + drain_s * 1000
      await this.#remember({ change, by, author, machine: machineMark(), deadline_ms })
      await sleep(ANSWER_MS)
      await this.#drain(drain_s)
    }
    if (author !== undefined) assertStill(author, [`power.${change}`])
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

  async #drain(drain_s: number): Promise<void> {
    const { facts, statsSocket, log } = this.#parts
    const names = this.#parts.frontends()
    if (statsSocket === undefined || names.length === 0) return
    await this.#command('disable', 'take no new connections')
    const deadline_ms = performance.now() + drain_s * 1000
    for (;;) {
      const left = await facts.sessions(statsSocket, names)
      if (left === 0) return
      if (performance.now() >= deadline_ms) return log.warn('connections are cut off', { connections: left })
      await sleep(LOOK_EVERY_MS)
    }
  }

  /** A frontend that HAProxy does not have, or has like that already, is none to change. */
  async #command(verb: 'disable' | 'enable', why: string): Promise<void> {
    const { statsSocket, executor, log, frontends } = this.#parts
    if (statsSocket === undefined) return
    const expect = ['', 'No such*', 'Frontend is already*', 'Frontend was*', 'Frontend is not*']
    const commands = frontends().map((name): SocketCommand => ({ request: `${verb} frontend ${name}`, expect }))
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
    if (!result.ok) log.warn(why, { reason: result.output })
  }

  async #failed(change: PowerChange, reason: string): Promise<void> {
    this.#parts.log.error('the machine did not go down', { change, reason })
    this.#parts.events.publish('node', { state: `${change} failed`, reason })
    await this.#command('enable', 'take connections again')
    await this.#remember(undefined)
    this.#underWay = undefined
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
