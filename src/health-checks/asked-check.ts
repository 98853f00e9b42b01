import { CHECK_DEFAULTS, type HealthCheck, type HealthCheckSetting } from '../model/health-check.ts'

/**
 * What a backend asks for, whichever way it says so: types tcp, http and https are the built-in checks of those names.
 */
export interface AskedCheck {
  /** Id of the check, built-in or own. */
  readonly id: string
  /** Values that were given. */
  readonly values: Readonly<Record<string, string>>
  /** Seconds. */
  readonly interval: number
  readonly rise: number | undefined
  readonly fall: number
}

/** undefined: nothing is asked. */
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

/** The flags of a script, in the order of its declarations: a given value, else the default, else none. */
export function flagsOf(
  { parameters }: Pick<HealthCheck, 'parameters'>,
  values: Readonly<Record<string, string>>,
): readonly string[] {
  return parameters.flatMap(({ name, default: fallback }) => {
    const value = Object.hasOwn(values, name) ? values[name] : fallback
    return value === undefined ? [] : [`--${name}=${value}`]
  })
}
