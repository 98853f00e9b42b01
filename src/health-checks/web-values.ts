import { CHECKED_PATH, CHECKED_STATUSES, isHostHeader } from '../model/health-check.ts'

const PATH = new RegExp(CHECKED_PATH)
const STATUSES = new RegExp(CHECKED_STATUSES)

const unless = (isGood: boolean, problem: string): string | undefined => (isGood ? undefined : problem)

/** Rules for those parameters of the checks http and https that form a request. */
const RULES: ReadonlyMap<string, (value: string) => string | undefined> = new Map([
  ['path', (value) => unless(PATH.test(value), 'must begin with / and contain visible ASCII characters only')],
  [
    'host',
    (value) =>
      unless(isHostHeader(value), 'must be a host name or an address (IPv6 in brackets), optionally with a port'),
  ],
  ['expect', statusesProblem],
])

/** Returns why a text is not a list of statuses; undefined if it is. Ranges from high to low are empty, and refused. */
export function statusesProblem(expect: string): string | undefined {
  if (!STATUSES.test(expect)) return 'must be statuses such as "200-399" or "200,204"'
  const empty = expect.split(',').find((range) => {
    const [low = '', high = low] = range.split('-')
    return Number(low) > Number(high)
  })
  return unless(empty === undefined, `has the range ${empty}, which contains no status`)
}

/** Values of the checks http and https follow the same rules, whichever way a backend gives them. */
export function webProblem(checkId: string, name: string, value: string): string | undefined {
  return checkId === 'http' || checkId === 'https' ? RULES.get(name)?.(value) : undefined
}

/** Returns whether a balancer may form its own request from these values. */
export const isWeb = (values: Readonly<Record<string, string>>): boolean =>
  Object.entries(values).every(([name, value]) => webProblem('http', name, value) === undefined)
