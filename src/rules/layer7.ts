import { type FieldProblem, problemIn } from '../base/errors.ts'
import { isLogged } from '../model/access-log.ts'
import type { L7Backend, L7Frontend, L7Real } from '../model/layer7.ts'
import { backendRuleProblems } from './l7-rules.ts'

/** Fields of a frontend that mean nothing where bytes are only passed. */
export function httpOnlyProblems({
  mode,
  httpRedirectToHttps = false,
  hsts = false,
  logs,
}: Pick<L7Frontend, 'mode' | 'httpRedirectToHttps' | 'hsts' | 'logs'>): readonly FieldProblem[] {
  if (mode !== 'tcp') return []
  const asked = { httpRedirectToHttps, hsts: Number(hsts) > 0, logs: isLogged(logs) }
  return Object.entries(asked)
    .filter(([, isAsked]) => isAsked)
    .map(([field]) => problemIn(field, 'needs mode http'))
}

/** What is wrong with a backend by itself, whichever of the fields that do not fit was sent last. */
export function backendProblems({
  mode,
  persistence,
  balance,
  reals,
  rules = [],
}: Pick<L7Backend, 'mode' | 'persistence' | 'balance' | 'reals' | 'rules'>): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  if (mode === 'tcp' && persistence.type === 'cookie')
    problems.push(problemIn('persistence.type', 'cookie needs mode http; mode tcp takes ip or none'))
  if (mode === 'tcp' && balance === 'uri')
    problems.push(problemIn('balance', 'uri needs mode http; mode tcp takes any other'))
  const seen = new Set<string>()
  for (const [at, member] of reals.entries()) {
    if (seen.has(member.ripId)) problems.push(problemIn(`reals.${at}.ripId`, 'is in this backend already'))
    seen.add(member.ripId)
    for (const [field, message] of tlsProblems(member)) problems.push(problemIn(`reals.${at}.${field}`, message))
  }
  return [...problems, ...backendRuleProblems({ mode, rules })]
}

const NEEDS_ENCRYPTED = 'needs encrypted: without it the real server is not spoken to by TLS'

function tlsProblems({ encrypted, verify, sni }: L7Real): readonly (readonly [field: string, message: string])[] {
  if (encrypted !== true) {
    return [
      ...(verify === true ? ([['verify', NEEDS_ENCRYPTED]] as const) : []),
      ...(sni === undefined ? [] : ([['sni', NEEDS_ENCRYPTED]] as const)),
    ]
  }
  // Without a name any certificate of the same authorities would do, whoever it was issued to.
  return verify === true && sni === undefined
    ? [['sni', 'is needed by verify: the name that the certificate must have']]
    : []
}
