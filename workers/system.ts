/** The tasks of the system pool: one thread, first come first served, the only one that changes the machine. */
import { type MessagePort, workerData } from 'node:worker_threads'
import type { PlanResult } from '../src/drivers/driver.ts'
import { receivedPlan, type SentPlan } from '../src/drivers/sent-plan.ts'
import type { Host, UnitName, UnitState } from '../src/drivers/host.ts'
import { checkPlan as check, executePlan as execute } from './executor.ts'
import { createHost } from './host/create-host.ts'
import type { HostSettings } from './host/host-settings.ts'

// One host for the life of the thread, created at the first task.
let made: Host | undefined
function host(): Host {
  const settings: HostSettings = workerData
  return (made ??= createHost(settings))
}

/**
 * The other end of `figures` is asked to read the counters before a step destroys them, and answers when they were
 * read.
 */
export function executePlan({
  plan,
  figures,
}: {
  readonly plan: SentPlan
  readonly figures?: MessagePort | undefined
}): Promise<PlanResult> {
  const capture = figures && (() => answerOf(figures))
  return execute(host(), receivedPlan(plan), { capture })
}

function answerOf(port: MessagePort): Promise<void> {
  return new Promise((resolve) => {
    port.once('message', () => resolve())
    port.postMessage('capture')
  })
}

export function checkPlan({ plan }: { readonly plan: SentPlan }): Promise<PlanResult> {
  return check(host(), receivedPlan(plan))
}

export function unitState({ unit }: { readonly unit: UnitName }): Promise<UnitState> {
  return host().unitState(unit)
}
