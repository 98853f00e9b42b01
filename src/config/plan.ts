import type { Driver, Step } from '../drivers/driver.ts'
import type { ConfigView } from '../model/sections.ts'

export interface Plan {
  readonly steps: readonly Step[]
  /** The driver of each step, which can explain a failure. */
  readonly owners: readonly Driver[]
}

/** Puts the checks of all drivers before the first change, and steps that take something away last. */
export function orderPlan(planned: readonly { readonly step: Step; readonly owner: Driver }[]): Plan {
  const place = ({ step }: { readonly step: Step }): number => {
    if (step.kind === 'check') return 0
    if (step.isLast === true) return 3
    return step.kind === 'network' && step.phase === 'settle' ? 2 : 1
  }
  const sorted = planned.toSorted((a, b) => place(a) - place(b))
  return { steps: sorted.map(({ step }) => step), owners: sorted.map(({ owner }) => owner) }
}

/** Returns the plan that takes one driver back to running, whatever an apply has left. */
export function backTo(running: ConfigView, attempted: ConfigView, driver: Driver): readonly Step[] {
  const back = driver.plan(attempted, running, { atLeast: 'reload', isReturn: true })
  return back.length > 0 ? back : driver.plan(undefined, running, { atLeast: 'reload' })
}
