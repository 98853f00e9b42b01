import type { AlertRule } from '../model/alerts.ts'

/** What an alert is about. */
export interface AlertObject {
  readonly type: string
  readonly id: string
  readonly name: string
}

/** A condition that holds as a rule describes it. */
export interface Met {
  readonly rule: AlertRule
  /** With the rule, it tells one alert from another; of live figures it begins with the layer and a stroke. */
  readonly key: string
  readonly object: AlertObject
  readonly value: number | null
  /** A sentence without its end. */
  readonly text: string
}

export type OnMet = (met: Met) => void

/** What one kind of rule looks at. */
export interface Conditions {
  /** Tells what is met; answers what nobody can tell of now. */
  look(met: OnMet): readonly Unknown[]
}

/** All of a rule, or what of it is of one layer. */
export interface Unknown {
  readonly ruleId: string
  readonly layer?: 4 | 7
}
export const NOTHING_UNKNOWN: readonly Unknown[] = []

/** As a set holds it. */
export const unknownKey = ({ ruleId, layer }: Unknown): string => (layer === undefined ? ruleId : `${ruleId} ${layer}`)
