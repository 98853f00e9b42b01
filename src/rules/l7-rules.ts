import { type FieldProblem, problemIn } from '../base/errors.ts'
import { FRAMING_HEADERS } from '../base/framing-headers.ts'
import { parseNetwork } from '../base/ip-network.ts'
import type { L7Backend, L7Frontend } from '../model/layer7.ts'
import {
  type Action,
  type ActionType,
  type Condition,
  conditionsOf,
  type ConditionType,
  REDIRECTS,
  REFUSALS,
  type Rule,
} from '../model/l7-rules.ts'
import { unknownIn, VARIABLE } from './filled-text.ts'
import { bodilessFault, pageFault } from './l7-settings.ts'
import { regexFault } from './regex-fault.ts'

/** The subject of a rule: requests of http frontends, connections of tcp frontends, or responses of backends. */
type Of = 'requests' | 'connections' | 'responses'
type Match = NonNullable<Condition['match']>

interface ConditionKind {
  readonly of: readonly Of[]
  readonly isNamed?: true
  readonly matches: readonly Match[]
  /** Returns what is wrong with a value that is compared as a whole. */
  readonly fault?: (value: string) => string | undefined
}

const TEXTS = ['is', 'begins', 'ends', 'contains', 'regex'] as const
const unless = (form: RegExp, message: string) => (value: string) => (form.test(value) ? undefined : message)
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])$/
const hostFault = unless(
  HOST,
  'must be a host name without a port; for all names of a domain, use ends with .example.org',
)

const networkFault = (value: string) =>
  parseNetwork(value) === undefined ? 'must be an address or a network such as 192.0.2.0/24' : undefined

function statusFault(value: string): string | undefined {
  if (!/^[1-5]\d\d(?:-[1-5]\d\d)?$/.test(value)) return 'must be a status or a range such as 500-599'
  const [first = '', last = first] = value.split('-')
  return first > last ? `is the range ${value}, which contains no status` : undefined
}

/** A new kind of condition needs a row here, one where it is rendered, and its name in the model. */
const CONDITION_KINDS: Readonly<Record<ConditionType, ConditionKind>> = {
  path: { of: ['requests'], matches: TEXTS, fault: unless(/^\//, 'must begin with /') },
  host: { of: ['requests'], matches: TEXTS, fault: hostFault },
  method: { of: ['requests'], matches: ['is'], fault: unless(/^[A-Z]{1,20}$/, 'must be a method, such as GET') },
  header: { of: ['requests', 'responses'], isNamed: true, matches: TEXTS },
  cookie: { of: ['requests'], isNamed: true, matches: TEXTS },
  query: { of: ['requests'], isNamed: true, matches: TEXTS },
  source: { of: ['requests', 'connections', 'responses'], matches: ['is', 'in'], fault: networkFault },
  sni: { of: ['requests', 'connections'], matches: TEXTS, fault: hostFault },
  status: { of: ['responses'], matches: ['is'], fault: statusFault },
}

type Fault = readonly [field: string, message: string]

interface ActionKind {
  readonly of: readonly Of[]
  readonly needs: readonly (keyof Action)[]
  readonly takes?: readonly (keyof Action)[]
  /** The fields with {placeholders}. */
  readonly filled?: readonly ('to' | 'value')[]
  readonly statuses?: readonly number[]
  /** Whether later rules are skipped. */
  readonly ends?: true
  /** Returns what is wrong with the fields that it needs and has. */
  readonly faults?: (action: Action) => readonly Fault[]
}

const REQUESTS = ['requests'] as const
const BOTH = ['requests', 'responses'] as const

const faultIf = (isWrong: boolean, field: string, message: string): readonly Fault[] =>
  isWrong ? [[field, message]] : []

/**
 * HAProxy 2.6 rejects an empty text for a header, and crashes at the first request for which a variable is set to one.
 */
const ofText = ({ value }: Action) => faultIf(value === '', 'value', 'must not be empty')
const ofHeader = (action: Action) => [
  ...faultIf(
    FRAMING_HEADERS.has(action.name?.toLowerCase() ?? ''),
    'name',
    `is ${action.name}, which HAProxy itself sets`,
  ),
  ...ofText(action),
]
const ofRedirect = ({ to = '' }: Action) =>
  faultIf(
    !/^(?:https?:\/\/|\/|\{)[!-~]*$/.test(to),
    'to',
    'must be a URL with http or https, or a path, without spaces',
  )
const ofVariable = (action: Action) => [
  ...faultIf(
    !VARIABLE.test(action.name ?? ''),
    'name',
    'must begin with a letter, and contain only letters, digits and _',
  ),
  ...ofText(action),
]

function ofPath({ value = '', to = '', match }: Action): readonly Fault[] {
  const fault = match === 'regex' ? regexFault(value) : value.startsWith('/') ? undefined : 'must begin with /'
  // What replaces another placeholder does not begin with /, and can be missing: servers would get no path.
  const form = match === 'regex' ? /^(?:\/|\{path\}|\\[1-9])[!-~]*$/ : /^(?:\/|\{path\})[!-~]*$/
  const isPath = form.test(to)
  // HAProxy appends the query of the request, which would become part of the value before it.
  const hasQuery = /[?#]/.test(to)
  // HAProxy would read \x20 as a space, and combine a backslash with the text inserted after it.
  const isEscape = match === 'regex' && /\\(?:$|x|\{)/.test(to.replaceAll(String.raw`\\`, ''))
  return [
    ...faultIf(fault !== undefined, 'value', fault ?? ''),
    ...faultIf(!isPath, 'to', 'must begin with / or {path}, without spaces'),
    ...faultIf(hasQuery, 'to', 'must be a path without ? and #: the query of the request stays as it is'),
    ...faultIf(
      isEscape,
      'to',
      'has an invalid \\: use \\1 to \\9 for captured groups, and \\\\ for the character itself',
    ),
  ]
}

function ofBody({ body = '', status = 200 }: Action): readonly Fault[] {
  const [fault, bodiless] = [pageFault(body), body === '' ? undefined : bodilessFault(status)]
  return [
    ...faultIf(fault !== undefined, 'body', fault ?? ''),
    ...faultIf(bodiless !== undefined, 'status', bodiless ?? ''),
  ]
}

function ofLimit({ per, name }: Action): readonly Fault[] {
  const isNamed = per === 'header' || per === 'cookie'
  if (isNamed === (name !== undefined)) return []
  return [['name', isNamed ? `is required for limit per ${per}` : `is not allowed for limit per ${per}`]]
}

/** A new kind of action needs a row here, one where it is rendered, and its name in the model. */
const ACTION_KINDS: Readonly<Record<ActionType, ActionKind>> = {
  backend: { of: ['requests', 'connections'], needs: ['backendId'], ends: true },
  redirect: {
    of: REQUESTS,
    needs: ['to'],
    takes: ['status'],
    filled: ['to'],
    statuses: REDIRECTS,
    ends: true,
    faults: ofRedirect,
  },
  deny: { of: ['requests', 'connections'], needs: [], takes: ['status'], statuses: REFUSALS, ends: true },
  tarpit: { of: REQUESTS, needs: [], takes: ['status'], statuses: REFUSALS, ends: true },
  respond: { of: REQUESTS, needs: [], takes: ['status', 'contentType', 'body'], ends: true, faults: ofBody },
  limit: { of: REQUESTS, needs: ['per', 'rate'], takes: ['name', 'over', 'burst', 'answer'], faults: ofLimit },
  setHeader: { of: BOTH, needs: ['name', 'value'], filled: ['value'], faults: ofHeader },
  addHeader: { of: BOTH, needs: ['name', 'value'], filled: ['value'], faults: ofHeader },
  removeHeader: { of: BOTH, needs: ['name'], faults: ofHeader },
  rewritePath: { of: REQUESTS, needs: ['value', 'to'], takes: ['match'], filled: ['to'], faults: ofPath },
  setVariable: { of: REQUESTS, needs: ['name', 'value'], filled: ['value'], faults: ofVariable },
}

/** HAProxy can count a request in this many tables. */
const LIMITS_MAX = 3

function conditionProblems(condition: Condition, of: Of): readonly Fault[] {
  const { type, match = 'is', name, values } = condition
  const { of: known, isNamed = false, matches } = CONDITION_KINDS[type]
  if (!known.includes(of)) return [['type', `${type} is not available for ${of}`]]
  return [
    ...faultIf(isNamed && name === undefined, 'name', `is required for ${type}`),
    ...faultIf(!isNamed && name !== undefined, 'name', `is not allowed for ${type}`),
    ...faultIf(!matches.includes(match), 'match', `must be one of ${matches.join(', ')} with ${type}`),
    ...faultIf(values.length === 0 && !isNamed, 'values', `are required for ${type}`),
    ...values.flatMap((value, at) => {
      const fault = valueFault(value, { type, match })
      return faultIf(fault !== undefined, `values.${at}`, fault ?? '')
    }),
  ]
}

function valueFault(value: string, { type, match }: Required<Pick<Condition, 'type' | 'match'>>): string | undefined {
  if (match === 'regex') return regexFault(value)
  const isWhole = match === 'is' || match === 'in' || (match === 'begins' && type === 'path')
  if (isWhole) return CONDITION_KINDS[type].fault?.(value)
  return value === '' ? 'must not be empty' : undefined
}

function actionProblems(action: Action, of: Of): readonly Fault[] {
  const { type, status = 0 } = action
  const { of: known, needs, takes = [], filled = [], statuses = [], faults } = ACTION_KINDS[type]
  if (!known.includes(of)) return [['type', `${type} is not available for ${of}`]]
  const missing = needs.filter((field) => action[field] === undefined)
  const fields = new Set<string>(['type', ...needs, ...takes])
  const others = Object.keys(action).filter((field) => !fields.has(field))
  const isWrongStatus = status > 0 && statuses.length > 0 && !statuses.includes(status)
  return [
    ...missing.map((field): Fault => [field, `is required for ${type}`]),
    ...others.map((field): Fault => [field, `is not allowed for ${type}`]),
    ...filled.flatMap((field) =>
      unknownIn(action[field] ?? '', of === 'responses').map((message): Fault => [field, message]),
    ),
    ...faultIf(isWrongStatus, 'status', `must be one of ${statuses.join(', ')} with ${type}`),
    ...faultIf(of === 'connections' && status > 0, 'status', 'is not available in mode tcp'),
    ...(missing.length > 0 ? [] : (faults?.(action) ?? [])),
  ]
}

function ruleProblems(rules: readonly Rule[], of: Of): readonly FieldProblem[] {
  const limits = rules.flatMap(({ do: { type } }, at) => (type === 'limit' ? [at] : []))
  return rules.flatMap((rule, at) => {
    const isTooMuch = limits.indexOf(at) >= LIMITS_MAX
    const faults = [
      ...whenProblems(rule, of),
      ...actionProblems(rule.do, of).map(([field, message]): Fault => [`do.${field}`, message]),
      ...faultIf(isTooMuch, 'do.type', `limit is used in more than ${LIMITS_MAX} rules, the maximum of HAProxy`),
    ]
    return faults.map(([field, message]) => problemIn(`rules.${at}.${field}`, message))
  })
}

function whenProblems(rule: Rule, of: Of): readonly Fault[] {
  if (rule.when === undefined) return []
  const { all, any } = rule.when
  if ((all === undefined) === (any === undefined)) return [['when', 'must have either all or any']]
  const key = all === undefined ? 'any' : 'all'
  return conditionsOf(rule).flatMap((condition, at) =>
    conditionProblems(condition, of).map(([field, message]): Fault => [`when.${key}.${at}.${field}`, message]),
  )
}

export const frontendRuleProblems = ({ mode, rules = [] }: Pick<L7Frontend, 'mode' | 'rules'>) =>
  ruleProblems(rules, mode === 'http' ? 'requests' : 'connections')

export function backendRuleProblems({ mode, rules = [] }: Pick<L7Backend, 'mode' | 'rules'>): readonly FieldProblem[] {
  return mode === 'tcp' && rules.length > 0 ? [problemIn('rules', 'need mode http')] : ruleProblems(rules, 'responses')
}

/** Returns whether no request gets past the rule. */
export const takesAll = (rule: Rule): boolean => rule.when === undefined && endsList(rule)

/** Returns whether the rules after this one are skipped for a request to which it applies. */
export const endsList = ({ do: { type } }: Rule): boolean => ACTION_KINDS[type].ends === true
