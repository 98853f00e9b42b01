import { CHECKED_PATH, CHECKED_STATUSES, isHostHeader } from '../model/health-check.ts'

const PATH = new RegExp(CHECKED_PATH)
const STATUSES = new RegExp(CHECKED_STATUSES)

const unless = (isGood: boolean, problem: string): string | undefined => (isGood ? undefined : problem)

/** Parameters of the checks http and https that a request is made of, and why a value is none. */
const RULES: ReadonlyMap<string, (value: string) => string | undefined> = new Map([
  ['path', (value) => unless(PATH.test(value), 'must begin with / and hold visible ASCII characters only')],
  [
    'host',
    (value) => unless(isHostHeader(value), 'must be a host name or an address (IPv6 in brackets), perhaps with a port'),
  ],
  ['expect', statusesProblem],
])

/** Why a text is no list of statuses; undefined when it is one. Ranges from high to low hold nothing. */
export function statusesProblem(expect: string): string | undefined {
  if (!STATUSES.test(expect)) return 'must be statuses such as "200-399" or "200,204"'
  const empty = expect.split(',').find((range) => {
    const [low = '', high = low] = range.split('-')
    return Number(low) > Number(high)
  })
  return unless(empty === undefined, `has the range ${empty}, which holds no status`)
}

/** Whichever way a backend gives them, values of the checks http and https keep to the same rules. */
export function webProblem(checkId: string, name: string, value: string): string | undefined {
  return checkId === 'http' || checkId === 'https' ? RULES.get(name)?.(value) : undefined
}

/** Whether a balancer may make its own request of these values. */
export const isWeb = (values: Readonly<Record<string, string>>): boolean =>
  Object.entries(values).every(([name, value]) => webProblem('http', name, value) === undefined)
