import { ADMINISTRATOR } from '../api/access.ts'
import type { AccessControl } from '../auth/access.ts'
import { LOCAL_ROOT } from '../auth/local-root.ts'
import { validity } from '../base/validity.ts'
import { verifyAdministrators } from '../rules/administrators.ts'
import { verifyAddresses } from '../rules/addresses.ts'
import type { ApplyParts } from '../config/apply-parts.ts'
import { ApplyEngine } from '../config/apply.ts'
import { namesInTurns } from '../rules/names.ts'
import { referencesInTurns } from '../rules/references.ts'
import { verifySignIn } from '../rules/sign-in.ts'
import { cutOffGuard } from '../listeners/cut-off.ts'
import { leftBehindGuard } from '../listeners/left-behind.ts'
import type { Node } from './node.ts'

type EngineNode = Pick<
  Node,
  | 'access'
  | 'accessLogs'
  | 'archives'
  | 'born'
  | 'clock'
  | 'drivers'
  | 'events'
  | 'facts'
  | 'listeners'
  | 'log'
  | 'machine'
  | 'membership'
  | 'nodeId'
  | 'running'
  | 'store'
>

/** Returns the function to call after a promotion: figures may have other names, and permissions may have changed. */
export const promotionOf =
  (access: AccessControl): ApplyParts['onPromoted'] =>
  (changes) => {
    validity.endAnswers()
    return access.onPromoted(changes)
  }

/** Creates the engine that changes this machine, with every rule that an apply must keep. */
export function createEngine(node: EngineNode, beforeApply: ApplyParts['beforeApply']): ApplyEngine {
  const { access, accessLogs, archives, events, listeners, machine } = node
  /** Saves the counts and log lines that a reload would lose. */
  const capture = async () => {
    await Promise.all([archives.capture(), accessLogs.capture()])
  }
  return new ApplyEngine({
    ...node,
    others: node.membership.others,
    executor: {
      check: (steps) => machine.executor.check(steps),
      execute: (steps) => machine.executor.execute(steps, capture),
    },
    own: [listeners],
    rules: [
      referencesInTurns,
      namesInTurns,
      verifyAddresses,
      verifySignIn,
      (desired) => verifyAdministrators(desired, ADMINISTRATOR.id),
    ],
    // In trial the network is left alone.
    wouldCut: machine.touchesPackages ? cutGuard(node) : async () => undefined,
    tell: (outcome) => events.publish('apply', outcome),
    beforeApply,
    onPromoted: promotionOf(access),
  })
}

function cutGuard({ born: nodeId, facts, listeners: api }: EngineNode): ApplyParts['wouldCut'] {
  const guards = [cutOffGuard({ nodeId, facts, api }), leftBehindGuard(api, facts)]
  return async (running, desired, address) => {
    if (address === LOCAL_ROOT.address) return undefined
    for (const guard of guards) {
      const reason = await guard(running, desired, address)
      if (reason !== undefined) return reason
    }
    return undefined
  }
}
