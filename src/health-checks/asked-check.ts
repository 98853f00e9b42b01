import { CHECK_DEFAULTS, type HealthCheck, type HealthCheckSetting } from '../model/health-check.ts'

/** The check of a backend in uniform terms: the types tcp, http and https become the built-in checks of those names. */
export interface AskedCheck {
  /** Id of the check, built-in or custom. */
  readonly id: string
  /** Values set by the backend. */
  readonly values: Readonly<Record<string, string>>
  /** In seconds. */
  readonly interval: number
  readonly rise: number | undefined
  readonly fall: number
}

/** Returns undefined if the backend has no check. */
export function askedCheck(setting: HealthCheckSetting): AskedCheck | undefined {
  const { type, id = '', interval = CHECK_DEFAULTS.interval, rise, fall = CHECK_DEFAULTS.fall } = setting
  if (type === 'none') return undefined
  if (type === 'script') return { id, values: setting.parameters ?? {}, interval, rise, fall }
  const { path, host, expect } = setting
  const given = type === 'tcp' ? {} : { path, host, expect }
  const values = Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  return { id: type, values, interval, rise, fall }
}

/** Returns the flags of a script, in the order of its declarations: the given value, else the default, else no flag. */
export function flagsOf(
  { parameters }: Pick<HealthCheck, 'parameters'>,
  values: Readonly<Record<string, string>>,
): readonly string[] {
  return parameters.flatMap(({ name, default: fallback }) => {
    const value = Object.hasOwn(values, name) ? values[name] : fallback
    return value === undefined ? [] : [`--${name}=${value}`]
  })
}
