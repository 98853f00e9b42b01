import type { Change, ConfigStore, RevisionHeader } from '../../storage/config/config-store.ts'
import type { Applied, ApplyOptions } from '../api/context.ts'
import type { Clock } from '../clock.ts'
import type { Driver, PlanOptions, PlanResult, Problem, Step } from '../drivers/driver.ts'
import { ApiError, type FieldError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { ConfigView, RecordChange } from '../model/sections.ts'
import { onOneRevision, prepare, turn } from './turns.ts'
import { configView, frozenView, recordChange } from './views.ts'

type PlanFailure = Extract<PlanResult, { ok: false }>

/** The only door to the machine: the system worker in the daemon, a recording host in tests. */
export interface PlanExecutor {
  execute(steps: readonly Step[]): Promise<PlanResult>
  /** Runs only the check steps and leaves no file behind. */
  check(steps: readonly Step[]): Promise<PlanResult>
}

export interface ApplyParts {
  readonly store: ConfigStore
  readonly drivers: readonly Driver[]
  readonly executor: PlanExecutor
  /** Rules over the whole configuration that belong to no driver. */
  readonly rules: readonly ((desired: ConfigView) => readonly Problem[])[]
  readonly nodeId: string
  readonly clock: Clock
  readonly log: Log
  /** Called after a promotion, before the apply is answered. */
  readonly onPromoted: (changes: readonly RecordChange[]) => Promise<void> | void
}

/** Turns staged changes into the machine's state: verify, plan, journal, execute, promote; undo when a step fails. */
export class ApplyEngine {
  readonly #parts: ApplyParts
  /** What holds the machine now. Maintenance is the daemon's own: callers wait for it instead of being refused. */
  #holder: { readonly kind: 'caller' | 'maintenance'; readonly done: Promise<unknown> } | undefined

  constructor(parts: ApplyParts) {
    this.#parts = parts
  }

  get busy(): boolean {
    return this.#holder !== undefined
  }

  /** `only` narrows the apply to some of the pending changes; the others stay pending. */
  async apply(options: ApplyOptions, by: string, only?: (change: Change) => boolean): Promise<Applied> {
    return this.#exclusively('caller', async () => {
      const { store } = this.#parts
      const frozen = store.freeze(only ?? (() => true))
      try {
        return await this.#applyFrozen(frozen, options, by)
      } finally {
        await store.thaw()
      }
    })
  }

  async #applyFrozen(frozen: readonly Change[], options: ApplyOptions, by: string): Promise<Applied> {
    const { store } = this.#parts
    const header = this.#header(by, options.comment ?? '')
    if (frozen.length === 0 && options.force === undefined) return { ...header, revision: store.revision }
    const running = configView(store.running)
    const desired = frozenView(store.running, frozen)
    await prepare(this.#parts.drivers, desired)
    await this.#verify(desired)
    await this.#enact(running, desired, options.force ?? 'runtime', header)
    await this.#promote(frozen, header, running)
    return header
  }

  /** Resolves when nothing holds the machine. */
  async idle(): Promise<void> {
    while (this.#holder !== undefined) await this.#holder.done
  }

  /** All problems of the candidate, the checker's included. Touches nothing. */
  async validate(): Promise<void> {
    const { store, executor, drivers } = this.#parts
    const [desired, steps] = await onOneRevision(store, async () => {
      const view = frozenView(store.running, store.changes())
      await prepare(drivers, view)
      await this.#verify(view)
      return [view, this.#plan(configView(store.running), view, 'reload')] as const
    })
    const result = await executor.check(steps)
    if (!result.ok) throw this.#refusal(result, desired, 'The check could not be run')
  }

  /**
   * Makes the machine what running says, whatever it is now. Called at start: after a crash in the middle of an apply
   * (open journal) everything is reloaded, because runtime state may be half-way.
   */
  async converge(): Promise<PlanResult> {
    return this.#exclusively('maintenance', async () => {
      const { store, executor, log } = this.#parts
      const journal = store.journal()
      if (journal !== undefined) log.warn('an apply did not finish; restoring running', { applyId: journal.applyId })
      await prepare(this.#parts.drivers, configView(store.running))
      const plan = this.#plan(undefined, configView(store.running), journal === undefined ? 'runtime' : 'reload')
      const result = await executor.execute(plan)
      if (result.ok && journal !== undefined) await store.closeJournal()
      if (!result.ok) log.error('running could not be restored', { why: result.why, output: result.output })
      return result
    })
  }

  /** Reloads or restarts everything as running says. */
  async enforce(atLeast: 'reload' | 'restart'): Promise<void> {
    const running = configView(this.#parts.store.running)
    await this.run(this.#plan(undefined, running, atLeast))
  }

  /** Runs one plan alone, such as the update of a package; refuses as an apply would. */
  async run(steps: readonly Step[]): Promise<void> {
    const result = await this.#exclusively('caller', () => this.#parts.executor.execute(steps))
    if (!result.ok) throw this.#refusal(result, configView(this.#parts.store.running))
  }

  async #exclusively<T>(kind: 'caller' | 'maintenance', work: () => Promise<T>): Promise<T> {
    while (this.#holder?.kind === 'maintenance') await this.#holder.done
    if (this.#holder !== undefined) {
      throw new ApiError('APPLY_IN_PROGRESS', 'Another apply is running; try again in a second', {
        headers: { 'Retry-After': '1' },
      })
    }
    const working = work()
    this.#holder = { kind, done: working.catch(() => undefined) }
    try {
      return await working
    } finally {
      this.#holder = undefined
    }
  }

  async #verify(desired: ConfigView): Promise<void> {
    const { drivers, rules } = this.#parts
    const problems: Problem[] = []
    for (const rule of [...drivers.map((driver) => driver.verify.bind(driver)), ...rules]) {
      problems.push(...rule(desired))
      await turn()
    }
    if (problems.length > 0) throw configInvalid(problems, undefined)
  }

  /** Checks of every driver come before the first swap of any. */
  #plan(running: ConfigView | undefined, desired: ConfigView, atLeast: PlanOptions['atLeast']): readonly Step[] {
    const steps = this.#parts.drivers.flatMap((driver) => driver.plan(running, desired, { atLeast }))
    return [...steps.filter((step) => step.kind === 'check'), ...steps.filter((step) => step.kind !== 'check')]
  }

  async #enact(
    running: ConfigView,
    desired: ConfigView,
    atLeast: PlanOptions['atLeast'],
    header: RevisionHeader,
  ): Promise<void> {
    const { store, executor, log } = this.#parts
    const steps = this.#plan(running, desired, atLeast)
    if (steps.length === 0) return
    await store.openJournal({ ...header, steps: steps.map((step) => step.why) })
    let result = await executor.execute(steps)
    if (!result.ok && result.kind === 'socket') {
      log.info('a runtime command was refused; reloading instead', { why: result.why, output: result.output })
      const { undone } = result
      result = await executor.execute(this.#plan(undefined, desired, 'reload'))
      // Runtime commands that could not be taken back stay a doubt, even when the reload was taken back cleanly.
      if (!result.ok) result = { ...result, undone: result.undone && undone }
    }
    if (result.ok) return
    await this.#restore(running, result)
    throw this.#refusal(result, desired)
  }

  /** After a failed plan: the journal may close only when the machine is known to be what running says. */
  async #restore(running: ConfigView, failure: Pick<PlanFailure, 'undone'>): Promise<void> {
    const { store, executor, log } = this.#parts
    if (!failure.undone) {
      const again = await executor.execute(this.#plan(undefined, running, 'reload'))
      if (!again.ok) {
        log.error('the previous configuration could not be restored; it is tried again at the next start', {
          why: again.why,
          output: again.output,
        })
        return
      }
    }
    await store.closeJournal()
  }

  #refusal(failure: PlanFailure, desired: ConfigView, title = 'The apply failed and was undone'): ApiError {
    if (failure.missing) return new ApiError('NOT_SUPPORTED', failure.output)
    if (failure.kind === 'check') {
      return configInvalid(this.#diagnose(failure, desired), failure.output)
    }
    const node = { nodeId: this.#parts.nodeId, ok: false, step: failure.why, output: failure.output }
    const blamed = failure.kind === 'unit' ? this.#diagnose(failure, desired) : []
    const errors = fieldErrors(blamed.filter((problem) => problem.id !== undefined))
    return new ApiError('APPLY_PARTIAL', `${title}: ${failure.why}`, {
      ...(errors.length === 0 ? {} : { errors }),
      data: { nodes: [node] },
    })
  }

  #diagnose(failure: PlanFailure, desired: ConfigView): readonly Problem[] {
    return this.#parts.drivers.flatMap((driver) => driver.diagnose(failure.output, desired))
  }

  async #promote(frozen: readonly Change[], header: RevisionHeader, running: ConfigView): Promise<void> {
    const { store, onPromoted, log, nodeId } = this.#parts
    try {
      await store.promote(frozen, header)
    } catch (error) {
      // The machine is new and the store is old: go back, as for any other step that failed.
      const output = error instanceof Error ? error.message : String(error)
      const why = 'keep the new configuration'
      log.error('the new configuration could not be stored', { output })
      await this.#restore(running, { undone: false })
      const nodes = [{ nodeId, ok: false, step: why, output }]
      throw new ApiError('APPLY_PARTIAL', `The apply failed and was undone: ${why}`, { data: { nodes } })
    }
    await onPromoted(frozen.map(recordChange))
    log.info('applied', { revision: header.revision, changes: frozen.length, by: header.by })
  }

  #header(by: string, comment: string): RevisionHeader {
    const now_ms = this.#parts.clock.now_ms()
    const at = new Date(now_ms).toISOString()
    return { applyId: newId(), revision: this.#parts.store.revision + 1, by, at, comment }
  }
}

function configInvalid(problems: readonly Problem[], output: string | undefined): ApiError {
  const errors = fieldErrors(problems)
  const first = problems[0]?.message ?? 'the checker gave no reason'
  const data = { problems, ...(output === undefined ? {} : { output }) }
  return new ApiError('CONFIG_INVALID', `The configuration cannot be applied: ${first}`, { errors, data })
}

function fieldErrors(problems: readonly Problem[]): readonly FieldError[] {
  return problems.map((problem) => ({
    field: [problem.section, problem.id, problem.field].filter((part) => part !== undefined).join('.'),
    code: 'CONFIG_INVALID',
    message: problem.message,
  }))
}
