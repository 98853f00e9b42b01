import type { FieldProblem } from '../base/errors.ts'
import { problemIn } from '../base/errors.ts'
import type { AcmeOrder } from '../model/acme.ts'
import type { HealthCheck } from '../model/health-check.ts'
import { valueProblems } from './rules.ts'

/** Returns the problems with the DNS script of an order and its values. */
export function dnsProblems(
  { challenge, dns, secrets = {} }: Pick<AcmeOrder, 'challenge' | 'dns' | 'secrets'>,
  scriptOf: (id: string) => HealthCheck | undefined,
): readonly FieldProblem[] {
  if (challenge !== 'dns-01') {
    const given = { dns: dns !== undefined, secrets: Object.keys(secrets).length > 0 }
    return Object.entries(given)
      .filter(([, isGiven]) => isGiven)
      .map(([field]) => problemIn(field, `is for dns-01 only, but the challenge of this order is ${challenge}`))
  }
  if (dns === undefined) return [problemIn('dns', 'is required with dns-01: the script that creates the records')]
  const script = scriptOf(dns.scriptId)
  if (script === undefined) return [problemIn('dns.scriptId', `is ${dns.scriptId}, which is not a script of your own`)]
  if (!script.services.includes('dns-01'))
    return [problemIn('dns.scriptId', `is the health check ${script.name}, which does not serve dns-01`)]
  return [...placeProblems(script, dns.parameters ?? {}, secrets), ...scriptValueProblems(script, dns, secrets)]
}

/** Secrets must be in `secrets` only, because parameters are shown, and `secrets` must hold nothing else. */
function placeProblems(
  { parameters }: HealthCheck,
  plain: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
): readonly FieldProblem[] {
  return parameters.flatMap(({ name, type }) => {
    const isSecret = type === 'secret'
    if (isSecret && Object.hasOwn(plain, name))
      return [problemIn(`dns.parameters.${name}`, 'is a secret: put it into secrets')]
    if (!isSecret && Object.hasOwn(secrets, name))
      return [problemIn(`secrets.${name}`, 'is not a secret of this script: put it into dns.parameters')]
    return []
  })
}

function scriptValueProblems(
  script: HealthCheck,
  { parameters = {} }: NonNullable<AcmeOrder['dns']>,
  secrets: Readonly<Record<string, string>>,
): readonly FieldProblem[] {
  const isSecret = (wanted: string) =>
    Object.hasOwn(secrets, wanted) || script.parameters.some(({ name, type }) => name === wanted && type === 'secret')
  return valueProblems(script, { ...parameters, ...secrets }).map(({ name, message }) =>
    problemIn(isSecret(name) ? `secrets.${name}` : `dns.parameters.${name}`, message),
  )
}

/** Returns a problem for each order that would not work with the changed script; the change is then refused. */
export function brokenOrders(script: HealthCheck, orders: Iterable<AcmeOrder>): readonly FieldProblem[] {
  const broken: FieldProblem[] = []
  for (const order of orders) {
    if (order.dns?.scriptId !== script.id) continue
    const [first] = dnsProblems(order, () => script)
    if (first === undefined) continue
    const of = first.field === 'dns.scriptId' ? 'services' : 'parameters'
    broken.push(problemIn(of, `break the ACME order ${order.name} (${order.id}): ${first.field} ${first.message}`))
  }
  return broken
}
