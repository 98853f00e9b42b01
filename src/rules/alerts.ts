import { type FieldProblem, problemIn } from '../base/errors.ts'
import { isHost } from '../base/host-name.ts'
import { isNameBased } from '../base/ids.ts'
import type { AlertCondition, AlertRule, AlertTarget, AlertWhen, TargetType } from '../model/alerts.ts'
import { type FigureKind, LAYER_4_FIGURES, LAYER_7_FIGURES } from '../model/live-figures.ts'
import { EVENT_STATES } from '../model/job.ts'
import type { ConfigView } from '../model/sections.ts'
import { whyNoRoot } from './acme.ts'

type TargetField = Exclude<keyof AlertTarget, 'id' | 'name' | 'enabled' | 'type'>

interface Fields<F extends string> {
  readonly needs: readonly F[]
  readonly takes: readonly F[]
}

const SERVED: readonly TargetField[] = ['port', 'transport', 'caCertificate']

/** The fields of a target, by type. */
export const TARGET_FIELDS: Readonly<Record<TargetType, Fields<TargetField>>> = {
  mail: { needs: ['host', 'from', 'to'], takes: [...SERVED, 'username', 'password'] },
  webhook: { needs: ['url'], takes: ['template', 'secret', 'headers', 'caCertificate'] },
  syslog: { needs: ['host'], takes: [...SERVED, 'certificateId'] },
  snmp: {
    needs: ['host'],
    takes: [
      'port',
      'version',
      'community',
      'username',
      'authAlgorithm',
      'authPassphrase',
      'privacyAlgorithm',
      'privacyPassphrase',
    ],
  },
}

const OBJECTS = ['ids', 'names'] as const
/** The fields of a condition, by kind. */
const WHEN_FIELDS: Readonly<Record<AlertCondition, Fields<Exclude<keyof AlertWhen, 'type'>>>> = {
  event: { needs: ['events'], takes: ['states'] },
  threshold: { needs: ['object', 'metric', 'value'], takes: ['layer', 'is', ...OBJECTS] },
  serverDown: { needs: [], takes: ['layer', ...OBJECTS] },
  certificateEnd: { needs: [], takes: ['value', ...OBJECTS] },
  applyWaiting: { needs: [], takes: ['waits'] },
  disk: { needs: [], takes: ['value'] },
  cluster: { needs: [], takes: [] },
}

function fieldProblems(of: Readonly<Record<string, unknown>>, fields: Fields<string>, what: string, at = '') {
  const { needs, takes } = fields
  const missing = needs.filter((field) => of[field] === undefined)
  const foreign = Object.keys(of).filter((field) => of[field] !== undefined && ![...needs, ...takes].includes(field))
  return [
    ...missing.map((field) => problemIn(`${at}${field}`, `is required for ${what}`)),
    ...foreign.map((field) => problemIn(`${at}${field}`, `is not a field of ${what}`)),
  ]
}

/** Returns the problems of a whole target. */
export function targetProblems(target: Omit<AlertTarget, 'id'>): readonly FieldProblem[] {
  const { name: _, enabled: __, type, ...fields } = target
  return [
    ...fieldProblems(fields, TARGET_FIELDS[type], `a target of type ${type}`),
    ...placeProblems(target),
    ...wayProblems(target),
    ...(type === 'snmp' ? snmpProblems(target) : []),
    ...(type === 'webhook' ? headerProblems(target) : []),
  ]
}

function placeProblems({ host, url, caCertificate }: Omit<AlertTarget, 'id'>): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  if (host !== undefined && !isHost(host)) problems.push(problemIn('host', 'is neither an IP address nor a host name'))
  if (url !== undefined && !URL.canParse(url)) problems.push(problemIn('url', 'cannot be read as a URL'))
  const noRoot = caCertificate === undefined ? undefined : whyNoRoot(caCertificate)
  if (noRoot !== undefined) problems.push(problemIn('caCertificate', noRoot))
  return problems
}

function wayProblems({ type, transport, ...target }: Omit<AlertTarget, 'id'>): readonly FieldProblem[] {
  const { caCertificate, certificateId, username, password } = target
  const problems: FieldProblem[] = []
  if (type === 'syslog' && transport === 'starttls')
    problems.push(problemIn('transport', 'is not available for syslog'))
  if (transport === 'tcp') {
    for (const [field, value] of Object.entries({ caCertificate, certificateId, password }))
      if (value !== undefined)
        problems.push(problemIn(field, 'needs TLS: without it, it could be read and forged in transit'))
  }
  if (type === 'mail' && (username === undefined) !== (password === undefined))
    problems.push(
      problemIn(username === undefined ? 'username' : 'password', 'is required: username and password go together'),
    )
  return problems
}

function snmpProblems({ version = '3', ...target }: Omit<AlertTarget, 'id'>): readonly FieldProblem[] {
  const { community, username, authAlgorithm, authPassphrase, privacyAlgorithm, privacyPassphrase } = target
  const of3 = { username, authAlgorithm, authPassphrase, privacyAlgorithm, privacyPassphrase }
  if (version === '2c') return fieldProblems({ community, ...of3 }, { needs: ['community'], takes: [] }, 'version 2c')
  const [needs, takes] = [
    ['username', 'authPassphrase'],
    ['authAlgorithm', 'privacyAlgorithm', 'privacyPassphrase'],
  ]
  const short = Object.entries({ authPassphrase, privacyPassphrase }).filter(([, text = '12345678']) => text.length < 8)
  return [
    ...fieldProblems({ community, ...of3 }, { needs, takes }, 'version 3'),
    ...short.map(([field]) => problemIn(field, 'is too short: SNMP passphrases need at least 8 characters')),
  ]
}

/** Headers that determine the end of a message, or its signature. */
const OWN_HEADERS =
  /^(?:host|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|webhook-.*)$/i

function headerProblems({ headers = [] }: Omit<AlertTarget, 'id'>): readonly FieldProblem[] {
  const seen = new Set<string>()
  return headers.flatMap(({ name, value }, at) => {
    const lower = name.toLowerCase()
    const isRepeated = seen.has(lower)
    seen.add(lower)
    return [
      ...(OWN_HEADERS.test(name) ? [problemIn(`headers.${at}.name`, `is ${name}, which is set automatically`)] : []),
      ...(isRepeated ? [problemIn(`headers.${at}.name`, 'occurs twice')] : []),
      ...(/[^\t -~\u0080-\u00ff]/.test(value)
        ? [problemIn(`headers.${at}.value`, 'contains characters that are not allowed in headers')]
        : []),
    ]
  })
}

/** Returns the numeric figures. */
function metricsOf(layer: 4 | 7, object: FigureKind): readonly string[] {
  const figures = (layer === 4 ? LAYER_4_FIGURES : LAYER_7_FIGURES)[object]
  const isNumber = (schema: object) =>
    [Reflect.get(schema, 'type')].flat().some((one) => /^(?:integer|number)$/.test(one))
  return Object.keys(figures).filter((name) => isNumber(figures[name] ?? {}) && !NOT_LIVE.has(name))
}
/** Counts from the configuration, which no reading changes. */
const NOT_LIVE = new Set(['realsTotal', 'realsDrained', 'realsHalted'])

function metricProblems({ type, layer = 7, object, metric }: AlertWhen): readonly FieldProblem[] {
  if (type !== 'threshold' || object === undefined || metric === undefined) return []
  const known = metricsOf(layer, object)
  if (known.includes(metric)) return []
  return [
    problemIn('when.metric', `is not a figure of a ${object} of layer ${layer}: available are ${known.join(', ')}`),
  ]
}

/** Minimum and maximum of the value, and what it is. */
const VALUES: { readonly [T in AlertCondition]?: readonly [number, number, string] } = {
  disk: [1, 99, 'percentage'],
  certificateEnd: [1, 3650, 'number of days'],
}

function valueProblems({ type, value }: AlertWhen): readonly FieldProblem[] {
  const [least, most, what] = VALUES[type] ?? [0, Number.POSITIVE_INFINITY, '']
  if (value === undefined || (value >= least && value <= most)) return []
  return [problemIn('when.value', `must be a ${what} from ${least} to ${most}`)]
}

/** Returns the problems of a whole rule. */
export function ruleProblems({ when, repeatEvery }: Omit<AlertRule, 'id'>): readonly FieldProblem[] {
  const { type, ...fields } = when
  const { ids, names } = fields
  const problems: FieldProblem[] = [
    ...fieldProblems(fields, WHEN_FIELDS[type], `a condition of type ${type}`, 'when.'),
    ...metricProblems(when),
    ...valueProblems(when),
  ]
  if (ids !== undefined && names !== undefined) problems.push(problemIn('when.names', 'and ids exclude each other'))
  if (repeatEvery > 0 && repeatEvery < 60)
    problems.push(problemIn('repeatEvery', 'must be at least 60 seconds, or 0 for never'))
  return problems
}

/**
 * Returns the states that no event of these kinds has: the rule would never fire. A rule that is stored all the same
 * keeps no apply from running.
 */
export function stateProblems({ events = [], states = [] }: AlertWhen): readonly FieldProblem[] {
  const known = new Set<string>(events.flatMap((kind) => EVENT_STATES[kind]))
  return states.flatMap((state, at) =>
    events.length === 0 || known.has(state)
      ? []
      : [
          problemIn(
            `when.states.${at}`,
            `is not a state of ${events.join(' or ')}, which has: ${[...known].join(', ')}`,
          ),
        ],
  )
}

type Find = ConfigView['get']

/**
 * Returns a problem for each id that no object has: the rule would never fire for it. `known` are the ids that the
 * stored rule has already, whose objects may be gone.
 */
export function objectProblems(when: AlertWhen, find: Find, known: readonly string[] = []): readonly FieldProblem[] {
  const what = whatOf(when)
  return (when.ids ?? []).flatMap((id, at) =>
    known.includes(id) || isElsewhere(id) || isFound(id, when, find)
      ? []
      : [problemIn(`when.ids.${at}`, `is ${id}, but there is no ${what} with that id`)],
  )
}

/** Whether no record has it: an object of an observed HAProxy, a node's own certificate, an authority of clients. */
const isElsewhere = (id: string): boolean => id.split('/').every(isNameBased) || /^(?:api|ca)-/.test(id)

function whatOf({ type, object }: AlertWhen): 'certificate' | 'real server' | 'backend' | 'frontend' {
  if (type === 'certificateEnd') return 'certificate'
  return type === 'serverDown' || object === undefined || object === 'server' ? 'real server' : object
}

function isFound(id: string, when: AlertWhen, find: Find): boolean {
  const [first = '', ripId] = id.split('/')
  const what = whatOf(when)
  if (what === 'certificate') return ripId === undefined && find('certificates', first) !== undefined
  if (what === 'real server' && ripId === undefined) return find('realServers', first) !== undefined
  const layers = when.layer === undefined && when.type === 'serverDown' ? [4, 7] : [when.layer ?? 7]
  return layers.some((layer) => {
    if (what === 'frontend') return ripId === undefined && find(layer === 4 ? 'l4Frontends' : 'l7Frontends', first)
    const backend = find(layer === 4 ? 'l4Backends' : 'l7Backends', first)
    return what === 'backend' ? ripId === undefined && backend : backend?.reals.some((real) => real.ripId === ripId)
  })
}

/** Checks all alert rules and targets of a configuration, whose fields may not have come through the API. */
export function* verifyAlerts(view: ConfigView) {
  for (const { id, ...target } of view.list('alertTargets'))
    for (const { field, message } of targetProblems(target))
      yield { section: 'alertTargets' as const, id, field, message }
  for (const { id, ...rule } of view.list('alertRules'))
    for (const { field, message } of ruleProblems(rule)) yield { section: 'alertRules' as const, id, field, message }
}

/**
 * Returns a test for names against a pattern in which `*` stands for any text. Linear in both; the pattern is parsed
 * once.
 */
export function nameTest(pattern: string): (name: string) => boolean {
  const [first = '', ...others] = pattern.toLowerCase().split('*')
  const last = others.pop()
  if (last === undefined) return (text) => text.toLowerCase() === first
  return (text) => {
    const name = text.toLowerCase()
    if (!name.startsWith(first)) return false
    let at = first.length
    for (const part of others) {
      const found = name.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return name.length - at >= last.length && name.endsWith(last)
  }
}
