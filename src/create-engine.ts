import type { ConfigStore } from '../storage/config/config-store.ts'
import { ADMINISTRATOR } from './api/access.ts'
import type { ApiListeners } from './api-listeners.ts'
import type { AccessControl } from './auth/access.ts'
import type { MachineClock } from './clock.ts'
import { verifyAdministrators } from './config/access-rules.ts'
import { verifyAddresses } from './config/address-rules.ts'
import type { ApplyParts } from './config/apply-parts.ts'
import { ApplyEngine } from './config/apply.ts'
import type { PlanExecutor } from './config/enactor.ts'
import { verifyNames } from './config/name-rules.ts'
import { verifyReferences } from './config/reference-rules.ts'
import { verifySignIn } from './config/sign-in-rules.ts'
import { cutOffGuard } from './cut-off.ts'
import type { Driver } from './drivers/driver.ts'
import { leftBehindGuard } from './left-behind.ts'
import type { Log } from './log.ts'
import type { FiguresExecutor, Machine } from './machine.ts'
import type { ConfigView } from './model/sections.ts'
import type { Stats } from './stats/stats.ts'

/** What there is one of on a node, and most of what is made needs. */
export interface Node {
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly drivers: readonly Driver[]
  readonly nodeId: string
  /** Who it was before it assumed another identity; configurations that name none mean this one. */
  readonly born: string
  readonly clock: MachineClock
  readonly log: Log
}

export interface EngineParts {
  readonly node: Node
  readonly machine: Machine
  readonly listeners: ApiListeners
  readonly stats: Stats
  readonly access: AccessControl
  readonly tell: ApplyParts['tell']
  readonly beforeApply: ApplyParts['beforeApply']
}

/** The engine that changes this machine, with every rule that an apply must keep. */
export function createEngine({ node, machine, listeners, stats, access, ...told }: EngineParts): ApplyEngine {
  return new ApplyEngine({
    ...node,
    ...told,
    executor: keepingFigures(machine.executor, stats),
    own: [listeners],
    rules: [
      verifyReferences,
      verifyNames,
      verifyAddresses,
      verifySignIn,
      (desired) => verifyAdministrators(desired, ADMINISTRATOR.id),
    ],
    // In trial nothing of the network is touched.
    wouldCut: machine.touchesPackages ? cutGuard(node, machine, listeners) : async () => undefined,
    onPromoted: (changes) => access.onPromoted(changes),
  })
}

function cutGuard({ born: nodeId }: Node, { facts }: Machine, api: ApiListeners): ApplyParts['wouldCut'] {
  const guards = [cutOffGuard({ nodeId, facts, api }), leftBehindGuard(api, facts)]
  return async (running, desired, address) => {
    for (const guard of guards) {
      const reason = await guard(running, desired, address)
      if (reason !== undefined) return reason
    }
    return undefined
  }
}

/** What an ending worker counted since the last poll is read before a reload takes it away, and what a server did before it goes. */
function keepingFigures(executor: FiguresExecutor, stats: Stats): PlanExecutor {
  const capture = () => stats.capture()
  return {
    check: (steps) => executor.check(steps),
    async execute(steps) {
      if (steps.some((step) => step.kind === 'unit' && step.unit === 'layer7proxy')) await capture()
      return executor.execute(steps, capture)
    },
  }
}
