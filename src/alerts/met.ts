import type { AlertRule } from '../model/alerts.ts'

/** What an alert is about. */
export interface AlertObject {
  readonly type: string
  readonly id: string
  readonly name: string
}

/** That something is as a rule describes it. */
export interface Met {
  readonly rule: AlertRule
  /** With the rule, it tells one alert from another. */
  readonly key: string
  readonly object: AlertObject
  readonly value: number | null
  /** A sentence without its end. */
  readonly text: string
}

export type OnMet = (met: Met) => void

/** What one kind of rule looks at. */
export interface Conditions {
  /** Tells what is met; answers the rules of which nobody can tell now. */
  look(met: OnMet): readonly AlertRule[]
}

export const NOTHING_UNKNOWN: readonly AlertRule[] = []
