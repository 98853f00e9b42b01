import type { AlertRule } from '../model/alerts.ts'

/** The subject of an alert. */
export interface AlertObject {
  readonly type: string
  readonly id: string
  readonly name: string
}

/** A condition of a rule that holds. */
export interface Met {
  readonly rule: AlertRule
  /** Identifies the alert together with the rule; for live figures it begins with the layer and a slash. */
  readonly key: string
  readonly object: AlertObject
  readonly value: number | null
  /** A sentence without its full stop. */
  readonly text: string
}

export type OnMet = (met: Met) => void

/** The conditions of one kind of rule. */
export interface Conditions {
  /** Reports the conditions that hold; returns those whose state is unknown. */
  look(met: OnMet): readonly Unknown[]
}

/** A whole rule, or its part for one layer. */
export interface Unknown {
  readonly ruleId: string
  readonly layer?: 4 | 7
}
export const NOTHING_UNKNOWN: readonly Unknown[] = []

/** Returns its key in a set. */
export const unknownKey = ({ ruleId, layer }: Unknown): string => (layer === undefined ? ruleId : `${ruleId} ${layer}`)
