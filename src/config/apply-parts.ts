import type { Change } from '../../storage/config/config-store.ts'
import type { ApplyOptions } from '../context/applying.ts'
import type { MachineClock } from '../base/clock.ts'
import type { Problem } from '../model/problem.ts'
import type { ConfigView, RecordChange, SectionRecords } from '../model/sections.ts'
import type { EnactorParts } from './enactor.ts'
import type { May } from './needed-rights.ts'
import type { OtherNodes } from './rollout/other-nodes.ts'

/** Records that change at once: by what people do to their own account, and by how far an order is. */
export type AmendedSection = 'users' | 'radiusUsers' | 'acmeOrders'

/** Fields to set in the record as it is now, undefined ones to take away; all of them where there is none. */
export type Amending<N extends AmendedSection> = (now: SectionRecords[N] | undefined) => {
  readonly [K in keyof SectionRecords[N]]?: SectionRecords[N][K] | undefined
}

export interface Caller {
  /** E-mail, or what the daemon calls itself. */
  readonly by: string
  /** Where the request came from; undefined for the daemon's own. */
  readonly address: string | undefined
  /** Asked when the apply begins; absent for the daemon itself, which may do everything. */
  readonly may?: May
}

export interface ApplyOutcome {
  /**
   * `kept` is a confirmed one, `reverted` one that was taken back because nobody confirmed it; `followed`: this node
   * was away when others applied, and runs it now as well.
   */
  readonly state: 'applied' | 'refused' | 'reverted' | 'kept' | 'followed'
  readonly by: string
  /** Revision that runs now. */
  readonly revision: number
  readonly comment?: string
  readonly changes?: number
  /** The only node on which it took effect, where there are others. */
  readonly onlyOn?: string
  readonly confirmBy?: string | undefined
  readonly reason?: string
}

/** What it finds wrong; at an undefined in between, others may have their turn. */
export type Rule = (desired: ConfigView, running: ConfigView) => Iterable<Problem | undefined>

export interface ApplyParts extends EnactorParts {
  /** The other nodes of the cluster; without them this node is the only one. */
  readonly others?: OtherNodes | undefined
  /** Rules over the whole configuration that belong to no driver. */
  readonly rules: readonly Rule[]
  readonly clock: MachineClock
  /** Why the change would cut this caller off; undefined when it would not. */
  readonly wouldCut: (running: ConfigView, desired: ConfigView, address: string) => Promise<string | undefined>
  /** Told what came of each apply. */
  readonly tell: (outcome: ApplyOutcome) => void
  /** Called before anything is made; goes on meanwhile. Resolves with a warning, or undefined. */
  readonly beforeApply: (changes: readonly Change[]) => Promise<string | undefined>
  /** Called after a promotion, before the apply is answered. */
  readonly onPromoted: (changes: readonly RecordChange[]) => Promise<void> | void
}

/** What an apply is asked for, and what only the daemon's own ones say. */
export interface ApplyDetails extends ApplyOptions {
  readonly applyId?: string
  /** See PromoteEntry. */
  readonly unstaged?: boolean
}
