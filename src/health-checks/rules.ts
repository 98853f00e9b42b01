import type { FieldProblem } from '../base/errors.ts'
import type { CheckService, HealthCheck, HealthCheckSetting } from '../model/health-check.ts'
import type { ConfigView } from '../model/sections.ts'
import { checkFrom } from './built-in.ts'
import { valueProblem } from './values.ts'
import { statusesProblem, webProblem } from './web-values.ts'

const problem = (field: string, message: string): FieldProblem => ({
  field: `healthCheck${field === '' ? '' : `.${field}`}`,
  code: 'INVALID_BODY',
  message,
})

/**
 * Returns problems with the check of a backend that its schema cannot express. `checkOf` finds built-in and custom
 * checks.
 */
export function checkSettingProblems(
  setting: HealthCheckSetting,
  service: CheckService,
  checkOf: (id: string) => HealthCheck | undefined,
): readonly FieldProblem[] {
  const problems = [...expectProblems(setting.expect), ...scriptProblems(setting, service, checkOf)]
  if (service === 'layer-4' && (setting.rise ?? 1) > 1) {
    problems.push(problem('rise', 'must be 1 on Layer 4, where one pass brings a server up'))
  }
  return problems
}

/** Returns the same problems, with the checks of a whole configuration. */
export function checkProblems(
  setting: HealthCheckSetting,
  service: CheckService,
  view: Pick<ConfigView, 'get'>,
): readonly FieldProblem[] {
  return checkSettingProblems(
    setting,
    service,
    checkFrom((id) => view.get('healthChecks', id)),
  )
}

function expectProblems(expect: string | undefined): readonly FieldProblem[] {
  const found = expect === undefined ? undefined : statusesProblem(expect)
  return found === undefined ? [] : [problem('expect', found)]
}

function scriptProblems(
  { type, id, parameters }: HealthCheckSetting,
  service: CheckService,
  checkOf: (id: string) => HealthCheck | undefined,
): readonly FieldProblem[] {
  if (type !== 'script') {
    const given = { id: id !== undefined, parameters: Object.keys(parameters ?? {}).length > 0 }
    return Object.entries(given)
      .filter(([, isGiven]) => isGiven)
      .map(([field]) => problem(field, `is for type script only, but this check has type ${type}`))
  }
  if (id === undefined) return [problem('id', 'is required with type script: one of GET /healthchecks')]
  const check = checkOf(id)
  if (check === undefined) return [problem('id', `is ${id}, but there is no health check with that id`)]
  const problems = valueProblems(check, parameters ?? {}).map(({ name, message }) =>
    problem(`parameters.${name}`, message),
  )
  if (!check.services.includes(service)) {
    problems.unshift(problem('id', `is the health check ${check.name}, which does not serve ${service}`))
  }
  return problems
}

/** Returns a problem for each value that a check does not accept, and for each that it requires and that is missing. */
export function valueProblems(
  { id, parameters: declared }: Pick<HealthCheck, 'id' | 'parameters'>,
  values: Readonly<Record<string, string>>,
): readonly { readonly name: string; readonly message: string }[] {
  const types = new Map(declared.map(({ name, type }) => [name, type]))
  const problems = Object.entries(values).flatMap(([name, value]) => {
    const type = types.get(name)
    const message =
      type === undefined
        ? 'is not a parameter of this health check'
        : (valueProblem(type, value) ?? webProblem(id, name, value))
    return message === undefined ? [] : [{ name, message }]
  })
  const missing = declared.filter(({ name, required }) => required === true && !Object.hasOwn(values, name))
  return [...problems, ...missing.map(({ name }) => ({ name, message: 'is required by this health check' }))]
}

/** Returns a problem for each backend that would not work with the changed check; the change is then refused. */
export function brokenBy(
  check: HealthCheck,
  service: CheckService,
  backends: Iterable<{ readonly id: string; readonly name: string; readonly healthCheck: HealthCheckSetting }>,
): readonly FieldProblem[] {
  const broken: FieldProblem[] = []
  for (const { id, name, healthCheck } of backends) {
    if (healthCheck.type !== 'script' || healthCheck.id !== check.id) continue
    const [first] = scriptProblems(healthCheck, service, () => check)
    if (first === undefined) continue
    const of = first.field === 'healthCheck.id' ? 'services' : 'parameters'
    const rest = first.field.replace(/^healthCheck\.(parameters\.)?/, '')
    const message =
      of === 'services'
        ? `must contain ${service}: the backend ${name} (${id}) uses this check`
        : `break the backend ${name} (${id}), which uses this check: ${rest} ${first.message}`
    broken.push({ field: of, code: 'INVALID_BODY', message })
  }
  return broken
}
