import type { Change } from '../../storage/config/config-store.ts'
import type { ApplyOptions } from '../context/applying.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Problem } from '../model/problem.ts'
import type { ConfigView, RecordChange, SectionRecords } from '../model/sections.ts'
import type { EnactorParts } from './enactor.ts'
import type { May } from './needed-rights.ts'
import type { OtherNodes } from './rollout/other-nodes.ts'
import type { EventData } from '../model/job.ts'

/** Sections whose records may change without an apply: users change their own account, orders record their progress. */
export type AmendedSection = 'users' | 'radiusUsers' | 'acmeOrders'

/** Returns the fields to set in the current record (undefined removes a field), or all fields if there is no record. */
export type Amending<N extends AmendedSection> = (now: SectionRecords[N] | undefined) => {
  readonly [K in keyof SectionRecords[N]]?: SectionRecords[N][K] | undefined
}

export interface Caller {
  /** E-mail address, or the name by which the daemon calls itself. */
  readonly by: string
  /** Address the request came from; undefined for applies by the daemon. */
  readonly address: string | undefined
  /** Asked when the apply begins; absent for the daemon, which may do everything. */
  readonly may?: May
}

export type ApplyOutcome = EventData<'apply'> & {
  readonly by: string
  /** The revision that is running now. */
  readonly revision: number
  readonly comment?: string
  readonly changes?: number
  /** The only node on which the apply took effect, in a cluster. */
  readonly onlyOn?: string
  readonly confirmBy?: string | undefined
  readonly reason?: string
}

/** Yields the problems it finds; where it yields undefined, other work may take a turn. */
export type Rule = (desired: ConfigView, running: ConfigView) => Iterable<Problem | undefined>

export interface ApplyParts extends EnactorParts {
  /** The other nodes of the cluster; undefined if this node is the only one. */
  readonly others?: OtherNodes | undefined
  /** Rules over the whole configuration that belong to no driver. */
  readonly rules: readonly Rule[]
  readonly clock: MachineClock
  /** Returns why the change would cut this caller off; undefined if it would not. */
  readonly wouldCut: (running: ConfigView, desired: ConfigView, address: string) => Promise<string | undefined>
  /** Receives the outcome of each apply. */
  readonly tell: (outcome: ApplyOutcome) => void
  /** Called before anything is changed, and continues during the apply. Resolves with a warning, or undefined. */
  readonly beforeApply: (changes: readonly Change[]) => Promise<string | undefined>
  /** Called after a promotion, before the apply is answered. */
  readonly onPromoted: (changes: readonly RecordChange[]) => Promise<void> | void
}

/** The options of an apply, and those that only the daemon sets. */
export interface ApplyDetails extends ApplyOptions {
  readonly applyId?: string
  /** See `PromoteEntry`. */
  readonly unstaged?: boolean
}
